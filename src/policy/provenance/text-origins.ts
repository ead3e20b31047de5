import { basename } from "node:path"

import { contentText } from "../../protocol/message.ts"
import type { Message, MessageExtras, ToolCall, ToolMessage } from "../../protocol/message.ts"
import { hostsIn } from "./hosts.ts"
import { createTextFingerprint } from "./text-fingerprint.ts"
import { divideMessage } from "./typed-text.ts"
import { createUserWords } from "./user-words.ts"
import type { UserWords } from "./user-words.ts"

/** Which text of a conversation the user wrote, and which came from files, commands, pages, servers and other people. */
export interface TextOrigins {
  readonly user: Pick<UserWords, "name" | "contain" | "match" | "cover">
  /** Whether text from outside contains the value, in plain or in a disguise. */
  contains(value: string): boolean
  longestShared(text: string): string
  /** Whether any text from outside has been read. Project rules do not count: they are part of the workspace that the user chose. */
  readonly hasOutsideText: boolean
  /** The hosts in what the model wrote to a file of this name. */
  hostsWrittenTo(fileName: string): readonly string[]
}

export interface OriginsSource {
  /** Messages are appended; each is read once. */
  readonly history: () => readonly Message[]
  /** Returns each exchange that is not part of the history once: calls of scripts. */
  readonly takeOthers?: () => readonly Message[]
  /** The rules files of the project, as they are in the prompt. */
  readonly projectRules: () => string
  /** Arguments of rules that the user wrote: they name hosts and commands like a message does. */
  readonly ruleArguments: () => readonly string[]
  /** What the results of a tool contain that does not declare where its results come from. */
  readonly resultsOf: (tool: string) => "stored text" | "an answer of the user" | "own text"
  readonly steering: { readonly opening: string; readonly closing: string }
  /** How text begins that is sent with a message of the user although other people wrote it. */
  readonly injectedOpenings?: readonly string[]
  /** How text begins that references in a message attached to it: files, pages, output of commands. */
  readonly attachedOpening?: string
}

/** Reads a conversation when a call has to be judged by the origin of its values, and only what is new since the last time. */
export function createTextOrigins(source: OriginsSource): () => TextOrigins {
  const outside = createTextFingerprint()
  const user = createUserWords()
  const seen = new WeakSet<Message>()
  const seenRules = new Set<string>()
  const written = new Map<string, Set<string>>()
  let hasReadRules = false
  let hasOutsideText = false

  const addOutside = (text: string): void => {
    if (text.trim() === "") return
    outside.add(text)
    hasOutsideText = true
  }
  const addCall = ({ function: { arguments: text } }: ToolCall): void => {
    const name = /"(?:path|file_path)"\s*:\s*"([^"]{1,500})"/u.exec(text)?.[1]
    const hosts = name === undefined ? [] : hostsIn(text)
    if (name === undefined || hosts.length === 0) return
    const file = basename(name)
    written.set(file, new Set([...(written.get(file) ?? []), ...hosts]))
  }
  const addResult = (message: ToolMessage): void => {
    const { steered, rest } = withoutSteering(contentText(message.content), source.steering)
    user.add(steered)
    if (message.provenance !== undefined) {
      addOutside(rest)
      return
    }
    switch (source.resultsOf(message.tool_name)) {
      case "stored text":
        addOutside(rest)
        return
      case "an answer of the user":
        user.add(ownAnswer(rest))
        return
      case "own text":
        // Below the result are the rules of the directory.
        if (rest.includes("\n\n")) outside.add(rest.slice(rest.indexOf("\n\n")))
    }
  }
  const read = (message: Message): void => {
    seen.add(message)
    switch (message.role) {
      case "user":
        if (isFromOutside(message)) addOutside(contentText(message.content))
        else if (message.synthetic === undefined) {
          const text = contentText(message.content)
          const { typed, quoted } = divideMessage(message.typed ?? text)
          user.add(typed)
          addOutside(quoted)
          if (message.typed !== undefined) addOutside(insertedLines(text, message.typed))
          // A skill that the user invoked, or text of a hook: like project rules, its presence alone does not count.
          const { injected = "" } = message
          if (source.injectedOpenings?.some((opening) => injected.includes(opening)) === true) outside.add(injected)
          const attached = source.attachedOpening === undefined ? -1 : injected.indexOf(source.attachedOpening)
          if (attached !== -1) addOutside(injected.slice(attached))
        }
        return
      case "assistant":
        for (const call of message.tool_calls ?? []) addCall(call)
        return
      case "tool":
        addResult(message)
        return
      default:
    }
  }
  return () => {
    if (!hasReadRules) {
      hasReadRules = true
      outside.add(source.projectRules())
    }
    for (const argument of source.ruleArguments()) {
      if (seenRules.has(argument)) continue
      seenRules.add(argument)
      user.add(argument)
    }
    const history = source.history()
    const known = history.findLastIndex((message) => seen.has(message))
    for (const message of [...history.slice(known + 1), ...(source.takeOthers?.() ?? [])]) read(message)
    return {
      user,
      contains: (value) => outside.contains(value),
      longestShared: (text) => outside.longestShared(text),
      hasOutsideText,
      hostsWrittenTo: (fileName) => [...(written.get(fileName) ?? [])],
    }
  }
}

/** The lines of a message that the user did not type: pasted texts, and those with the output of a command. */
function insertedLines(sent: string, typed: string): string {
  const own = new Set(typed.split("\n"))
  return sent
    .split("\n")
    .filter((line) => !own.has(line))
    .join("\n")
}

function isFromOutside(message: MessageExtras): boolean {
  return (
    message.provenance !== undefined ||
    message.compressed_summary === true ||
    message.synthetic === "background" ||
    message.synthetic === "summary"
  )
}

/** A choice that was offered is the model's text. */
function ownAnswer(result: string): string {
  try {
    const { user_response: answer, choices_offered: choices }: Readonly<Record<string, unknown>> = Object(
      JSON.parse(result),
    )
    const isOffered = Array.isArray(choices) && choices.includes(answer)
    return typeof answer === "string" && !isOffered ? answer : ""
  } catch {
    // A shortened or failed result has no answer.
    return ""
  }
}

function withoutSteering(
  text: string,
  { opening, closing }: OriginsSource["steering"],
): { readonly steered: string; readonly rest: string } {
  const at = text.lastIndexOf(opening)
  const end = at === -1 ? -1 : text.indexOf(closing, at)
  if (end === -1) return { steered: "", rest: text }
  return {
    steered: text.slice(at + opening.length, end),
    rest: text.slice(0, at) + text.slice(end + closing.length),
  }
}
