import { takeCodePoints } from "../../base/text.ts"
import type { ContextFile } from "../../knowledge/read-context-file.ts"
import type { FacetLayer } from "../facet.ts"

/** The rules files of the project, for example AGENTS.md. */
export function projectContextLayer(files: readonly ContextFile[]): FacetLayer {
  const text = projectContext(files)
  return { tier: "context", name: "project context", text, shorten: (maxChars) => headAndTail(text, maxChars) }
}

export const PROJECT_CONTEXT_TITLE = "# Project Context"

function projectContext(files: readonly ContextFile[]): string {
  if (files.length === 0) return ""
  return [PROJECT_CONTEXT_TITLE, ...files.map(({ name, text }) => `## ${name}\n\n${text}`)].join("\n\n")
}

const MARKER = "\n\n[The project context is cut here to save space. Read the files named above for the rest.]\n\n"

function headAndTail(text: string, maxChars: number): string {
  const room = Math.max(0, maxChars - MARKER.length)
  const characters = Array.from(text)
  const tail = characters.slice(Math.max(0, characters.length - Math.floor(room * 0.2)))
  return `${takeCodePoints(text, Math.floor(room * 0.7))}${MARKER}${tail.join("")}`
}
