import { takeCodePoints } from "../../base/text.ts"
import type { ContextFile } from "../../knowledge/read-context-file.ts"
import type { DraftLayer } from "./prompt-budget.ts"

export interface ContextFacts {
  /** From the program that opened the session. */
  readonly systemMessage?: string
  /** Where the conversation takes place: the chat, who is in it. */
  readonly sessionContext?: string
  readonly contextFiles?: readonly ContextFile[]
}

/** What belongs to this project and this caller. */
export function contextTier(facts: ContextFacts): readonly DraftLayer[] {
  const sessionContext = facts.sessionContext ?? ""
  const project = projectContext(facts.contextFiles ?? [])
  return [
    { name: "system message", text: facts.systemMessage ?? "" },
    { name: "session context", text: sessionContext, shorten: (maxChars) => takeCodePoints(sessionContext, maxChars) },
    { name: "project context", text: project, shorten: (maxChars) => headAndTail(project, maxChars) },
  ]
}

function projectContext(files: readonly ContextFile[]): string {
  if (files.length === 0) return ""
  return ["# Project Context", ...files.map(({ name, text }) => `## ${name}\n\n${text}`)].join("\n\n")
}

const MARKER =
  "\n\n[The project context is shortened here for want of room. Read the files named above for the rest.]\n\n"

function headAndTail(text: string, maxChars: number): string {
  const room = Math.max(0, maxChars - MARKER.length)
  const characters = Array.from(text)
  const tail = characters.slice(Math.max(0, characters.length - Math.floor(room * 0.2)))
  return `${takeCodePoints(text, Math.floor(room * 0.7))}${MARKER}${tail.join("")}`
}
