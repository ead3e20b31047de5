import type { ForeignFiles } from "../foreign-files.ts"

/** How one agent stores its conversations. */
export interface TranscriptFormat {
  /** The transcripts of a home, conversations before sub-agents. */
  find(files: ForeignFiles): TranscriptFiles
  /** Decodes one line of a transcript. Pure: what a line means does not depend on the lines before it. */
  decode(line: Readonly<Record<string, unknown>>): TranscriptLine
}

export interface TranscriptFiles {
  readonly transcripts: readonly TranscriptFile[]
  /** What was found but is not a transcript that can be imported. */
  readonly skipped: readonly { readonly what: string; readonly reason: string }[]
}

export interface TranscriptFile {
  /** Relative to the home of the agent. */
  readonly path: string
  readonly size: number
  /** The id that the agent gave the conversation. */
  readonly id: string
  /** The id of the conversation that started this sub-agent; empty when only its lines name it. */
  readonly parent?: string
  readonly title?: string
}

export interface TranscriptLine {
  readonly facts?: TranscriptFacts
  readonly link?: LineLink
  readonly entries: readonly TranscriptEntry[]
  /** Part of a sub-agent inside the transcript of its conversation. */
  readonly isSidechain?: boolean
}

/** What a line says about the whole conversation. */
export interface TranscriptFacts {
  readonly id?: string
  /** The conversation that the line belongs to, or that started it. */
  readonly session?: string
  readonly parent?: string
  /** A sub-agent that belongs to no conversation of the user. */
  readonly isInternal?: boolean
  readonly cwd?: string
  readonly model?: string
  /** A title that the user or the agent gave. With `titleOf`, only when that line is in the transcript. */
  readonly title?: string
  readonly titleOf?: string
  /** Epoch seconds. */
  readonly at?: number
}

/** The position of a line in the tree of a conversation: after a rewind, several lines have the same parent. */
export interface LineLink {
  readonly id: string
  readonly parent: string | undefined
  /** A message that the user typed. Rewinds lead to such messages only. */
  readonly isPrompt: boolean
}

export type TranscriptEntry =
  | { readonly type: "user"; readonly text: string; readonly at: number | undefined }
  | {
      readonly type: "assistant"
      /** Lines with the same value are parts of one reply. */
      readonly reply: string | undefined
      readonly text: string
      readonly reasoning: string
      readonly calls: readonly TranscriptCall[]
      readonly at: number | undefined
    }
  | {
      readonly type: "result"
      readonly call: string
      readonly text: string
      readonly at: number | undefined
    }
  /** The agent's own summary of what came before it. */
  | { readonly type: "summary"; readonly text: string; readonly at: number | undefined }

export interface TranscriptCall {
  readonly id: string
  readonly name: string
  /** JSON text of an object. */
  readonly arguments: string
}

/** Decodes a line. Undefined for one that is nested so deeply that no agent wrote it. */
export function decodeLine(
  format: TranscriptFormat,
  line: Readonly<Record<string, unknown>>,
): TranscriptLine | undefined {
  try {
    return format.decode(line)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** Epoch seconds from an ISO time, or from epoch seconds or milliseconds. Undefined when it is no plausible time. */
export function timeOf(value: unknown): number | undefined {
  const number = typeof value === "string" ? Date.parse(value) / 1000 : typeof value === "number" ? value : Number.NaN
  const seconds = number > MAX_SECONDS ? number / 1000 : number
  return seconds >= MIN_SECONDS && seconds <= MAX_SECONDS ? seconds : undefined
}

/** The year 2000 and the year 2100. */
const MIN_SECONDS = 946_684_800
const MAX_SECONDS = 4_102_444_800

export const IMAGE_NOTE = "[An image that was not imported.]"

/** JSON text of an object, whatever the agent stored as arguments. */
export function argumentsText(value: unknown): string {
  const decoded: unknown = typeof value === "string" ? decodedText(value) : value
  return JSON.stringify(
    typeof decoded === "object" && decoded !== null && !Array.isArray(decoded) ? decoded : { input: decoded ?? null },
  )
}

function decodedText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
