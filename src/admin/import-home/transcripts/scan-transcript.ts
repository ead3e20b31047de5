import { readJsonLines, type ReadLinesOptions } from "../json-lines.ts"
import { decodeLine } from "./transcript.ts"
import type { LineLink, TranscriptFacts, TranscriptFile, TranscriptFormat } from "./transcript.ts"

/** What the first reading of a transcript finds out. */
export interface ScannedTranscript {
  /** The conversation that started it, for a sub-agent. */
  readonly parent: string | undefined
  readonly isInternal: boolean
  readonly title: string | undefined
  readonly cwd: string | undefined
  readonly model: string | undefined
  readonly startedAt: number | undefined
  readonly damagedLines: number
  /** Lines of sub-agents inside the transcript. */
  readonly sidechainLines: number
  /** False for a line that the user left behind by going back to an earlier message. */
  isCurrent(link: LineLink | undefined): boolean
}

/** Reads a transcript once, keeping only ids and facts. */
export async function scanTranscript(
  { path, file, format }: { readonly path: string; readonly file: TranscriptFile; readonly format: TranscriptFormat },
  options: ReadLinesOptions,
): Promise<ScannedTranscript> {
  const branches = createBranches()
  const facts = createFacts((id) => branches.has(id))
  let damagedLines = 0
  let sidechainLines = 0
  for await (const line of readJsonLines(path, options)) {
    const decoded = line.kind === "damaged" ? undefined : decodeLine(format, line.value)
    if (decoded === undefined) {
      damagedLines += 1
      continue
    }
    if (decoded.facts !== undefined) facts.add(decoded.facts)
    if (decoded.isSidechain === true && file.parent === undefined) {
      sidechainLines += 1
      continue
    }
    if (decoded.link !== undefined) branches.add(decoded.link, decoded.entries.length > 0)
  }
  const { session, parent, ...known } = facts.result()
  return {
    ...known,
    title: known.title ?? file.title,
    parent: file.parent === "" ? (session ?? "") : (file.parent ?? parent),
    damagedLines,
    sidechainLines,
    isCurrent: branches.current(),
  }
}

interface CollectedFacts {
  readonly session: string | undefined
  readonly parent: string | undefined
  readonly isInternal: boolean
  readonly title: string | undefined
  readonly cwd: string | undefined
  readonly model: string | undefined
  readonly startedAt: number | undefined
}

/** The first directory and time win, the last title and model. A forked transcript repeats the header of its origin: the first counts. */
function createFacts(hasLine: (id: string) => boolean): {
  add(facts: TranscriptFacts): void
  result(): CollectedFacts
} {
  let header: TranscriptFacts | undefined
  let session: string | undefined
  let title: string | undefined
  let cwd: string | undefined
  let model: string | undefined
  let startedAt: number | undefined
  /** Summaries stand before the line that they belong to. */
  const titles = new Map<string, string>()
  return {
    add: (facts) => {
      if (facts.id !== undefined) header ??= facts
      session ??= facts.session
      cwd ??= facts.cwd
      model = facts.model ?? model
      startedAt ??= facts.at
      if (facts.title === undefined) return
      if (facts.titleOf === undefined) title = facts.title
      else if (titles.size < MAX_TITLES) titles.set(facts.titleOf, facts.title)
    },
    result: () => ({
      session,
      parent: header?.parent,
      isInternal: header?.isInternal === true,
      title:
        title ??
        titles
          .entries()
          .toArray()
          .findLast(([leaf]) => hasLine(leaf))?.[1],
      cwd,
      model,
      startedAt,
    }),
  }
}

const MAX_TITLES = 1000

/** A transcript with more lines is read as one branch, so that its ids do not fill the memory. */
const MAX_LINKS = 500_000

/**
 * Finds the branch that ends with the last message. Only prompts separate branches, because parallel tool calls branch too. A line whose
 * parent is missing continues the line before it.
 */
function createBranches(): {
  add(link: LineLink, hasMessage: boolean): void
  has(id: string): boolean
  current(): (link: LineLink | undefined) => boolean
} {
  /** For each line, the index of the prompt that it follows; -1 before the first. */
  const promptOf = new Map<string, number>()
  /** For each prompt, the prompt before it. */
  const before: number[] = []
  let last = -1
  return {
    has: (id) => promptOf.has(id),
    add: ({ id, parent, isPrompt }, hasMessage) => {
      if (promptOf.size >= MAX_LINKS) return
      const origin = parent === undefined ? last : (promptOf.get(parent) ?? last)
      const prompt = isPrompt ? before.push(origin) - 1 : origin
      promptOf.set(id, prompt)
      if (hasMessage) last = prompt
    },
    current: () => {
      const isWhole = promptOf.size < MAX_LINKS
      const active = new Set<number>([-1])
      for (let prompt = last; prompt !== -1; prompt = before[prompt] ?? -1) active.add(prompt)
      return (link) => link === undefined || !isWhole || active.has(promptOf.get(link.id) ?? -1)
    },
  }
}
