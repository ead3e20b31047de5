import { isRecord } from "../../base/json.ts"
import type { Config } from "../../config/load-config.ts"

/** A way of speaking that a session can take on. It never changes what the model may do. */
export interface Personality {
  readonly name: string
  /** One line for lists. */
  readonly description: string
  /** For the model. */
  readonly text: string
}

/** The built-in personalities and those of the settings, which replace built-in ones of the same name. */
export function listPersonalities(config: Config): readonly Personality[] {
  const own = { ...config.get("agent.personalities"), ...config.get("personalities") }
  const known = new Map(BUILT_IN.map((personality) => [personality.name, personality]))
  for (const [written, value] of Object.entries(own)) {
    const name = written.trim().toLowerCase()
    const read = readPersonality(name, value)
    if (read !== undefined) known.set(name, read)
  }
  return [...known.values()]
}

/** Undefined for an unknown name, for none and for "". */
export function findPersonality(name: string, config: Config): Personality | undefined {
  const wanted = name.trim().toLowerCase()
  // Most sessions have none, and then the list is not built.
  return wanted === "" || wanted === "none" || wanted === "default"
    ? undefined
    : listPersonalities(config).find((personality) => personality.name === wanted)
}

/** Sent with the next message of a conversation that has begun: its system prompt never changes. */
export function personalityNote(personality: Personality | undefined): string {
  return personality === undefined
    ? "[From here on, answer in your usual way again, without a special personality.]"
    : `[From here on, take on this personality: ${personality.text}]`
}

function readPersonality(name: string, value: unknown): Personality | undefined {
  if (typeof value === "string")
    return value.trim() === "" ? undefined : { name, description: firstLine(value), text: value.trim() }
  if (!isRecord(value)) return undefined
  const field = (key: string): string => {
    const found = value[key]
    return typeof found === "string" ? found.trim() : ""
  }
  const text = [
    field("system_prompt"),
    field("tone") === "" ? "" : `Tone: ${field("tone")}`,
    field("style") === "" ? "" : `Style: ${field("style")}`,
  ]
    .filter((part) => part !== "")
    .join("\n")
  if (text === "") return undefined
  return { name, description: field("description") === "" ? firstLine(text) : field("description"), text }
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0] ?? ""
}

const BUILT_IN: readonly Personality[] = [
  {
    name: "helpful",
    description: "friendly and thorough",
    text: "Be friendly and patient. Answer completely, and add what the user will need next.",
  },
  {
    name: "concise",
    description: "as few words as possible",
    text: "Answer in as few words as possible: no introduction, no summary, no offers. Keep every fact that matters.",
  },
  {
    name: "technical",
    description: "exact, with details for experts",
    text: "Write for an expert: exact terms, versions, limits and trade-offs. Explain no basics unless asked.",
  },
  {
    name: "creative",
    description: "looks for unusual ideas",
    text: "Look for unusual ideas and say which of them are bold. Offer more than one way where there is a choice.",
  },
  {
    name: "teacher",
    description: "explains step by step",
    text: "Explain step by step, from what the user knows to what is new, with a small example. Check understanding with one question.",
  },
  {
    name: "kawaii",
    description: "cute and cheerful",
    text: "Be cute and cheerful, with kaomoji such as (◕‿◕) here and there. Facts, code and commands stay exact.",
  },
  {
    name: "catgirl",
    description: "a playful cat",
    text: "Speak like a playful cat: the odd nya and purr, a curious mood. Facts, code and commands stay exact.",
  },
  {
    name: "pirate",
    description: "a pirate captain",
    text: "Speak like a pirate captain of old: ahoy, matey, the seven seas. Facts, code and commands stay exact.",
  },
  {
    name: "shakespeare",
    description: "in the manner of a play",
    text: "Speak in the manner of an Elizabethan play, with thee and thou. Facts, code and commands stay exact.",
  },
  {
    name: "surfer",
    description: "relaxed, from the beach",
    text: "Speak like a relaxed surfer: easy-going, waves and good vibes. Facts, code and commands stay exact.",
  },
  {
    name: "noir",
    description: "a detective in the rain",
    text: "Speak like the narrator of a crime film in black and white: short sentences, rain, suspicion. Facts, code and commands stay exact.",
  },
  {
    name: "uwu",
    description: "very soft and silly",
    text: "Speak in a very soft and silly way, with uwu and owo and r spoken as w in ordinary words. Facts, code and commands stay exact.",
  },
  {
    name: "philosopher",
    description: "asks what lies behind a question",
    text: "Think aloud about what lies behind the question, name the assumptions, and then give a clear answer.",
  },
  {
    name: "hype",
    description: "full of energy",
    text: "Be full of energy and celebrate progress. Keep the praise honest. Facts, code and commands stay exact.",
  },
]
