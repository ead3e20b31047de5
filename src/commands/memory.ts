import { assertNever } from "../base/assert-never.ts"
import { ellipsize } from "../base/text.ts"
import type { MemoryWrite } from "../knowledge/memory/memory-edit.ts"
import { MEMORY_TARGETS, memoryPaths, type MemoryTarget } from "../knowledge/memory/memory-file.ts"
import { memoryOptions } from "../knowledge/memory/memory-settings.ts"
import { createMemoryStore, type MemoryStore } from "../knowledge/memory/memory-store.ts"
import {
  applyStagedWrite,
  discardStagedWrite,
  listStagedWrites,
  type StagedWrite,
} from "../knowledge/memory/staged-writes.ts"
import type { SlashCommand, SlashContext, SlashOutcome } from "./slash-command.ts"

/** `/memory`: what is remembered, and deciding about changes that wait (`memory.write_approval`). */
export const memoryCommand: SlashCommand = {
  name: "memory",
  help: "show what is remembered, decide about changes that wait",
  argument: "[pending | approve ID|all | discard ID|all]",
  run: showOrDecide,
}

interface Memory {
  /** Writes without asking again. */
  readonly store: MemoryStore
  readonly stagingPath: string
}

async function showOrDecide(argument: string, { app }: SlashContext): Promise<SlashOutcome> {
  const memory = memoryOf(app)
  const [action = "show", id, ...more] = argument.split(/\s+/u).filter((word) => word !== "")
  if (more.length > 0) return say(USAGE)
  switch (action) {
    case "show":
      return say([...MEMORY_TARGETS.flatMap((target) => fileLines(target, memory)), ...waitingLines(memory)].join("\n"))
    case "pending": {
      const waiting = waitingLines(memory)
      return say(waiting.length === 0 ? NOTHING_WAITS : waiting.join("\n"))
    }
    case "approve":
      return say(await decide(id, memory, (staged) => approve(staged, memory)))
    case "discard":
    case "reject":
      return say(await decide(id, memory, (staged) => discard(staged, memory)))
    case "approval":
      return say("Change it with: hermes config set memory.write_approval true (or false)")
    default:
      return say(USAGE)
  }
}

const USAGE = "Use /memory, /memory pending, /memory approve ID or all, /memory discard ID or all."
const NOTHING_WAITS = "No change waits for you."
const MAX_TEXT_CHARS = 300

function memoryOf({ home, config, clock }: SlashContext["app"]): Memory {
  const { stage: _stage, ...options } = memoryOptions({ home: home.path, config, clock })
  return { store: createMemoryStore(options), stagingPath: memoryPaths(home.path).stagingPath }
}

function fileLines(target: MemoryTarget, { store }: Memory): readonly string[] {
  const name = target === "memory" ? "MEMORY.md" : "USER.md"
  const answer = store.read(target)
  if (answer.kind !== "done") return [`${name}: ${answer.kind === "refused" ? answer.error : ""}`]
  const { entries, usage, message } = answer
  return [`${name}  ${usage}, ${message}`, ...entries.map((entry) => `  - ${short(entry)}`)]
}

function waitingLines({ stagingPath }: Memory): readonly string[] {
  const waiting = listStagedWrites(stagingPath)
  if (waiting.length === 0) return []
  return [
    "Waiting for you:",
    ...waiting.map(({ id, write }) => `  ${id}  ${writeText(write)}`),
    "Decide with /memory approve ID or all, /memory discard ID or all.",
  ]
}

function writeText(write: MemoryWrite): string {
  switch (write.action) {
    case "add":
      return `add to ${write.target}: ${short(write.content)}`
    case "replace":
      return `replace "${short(write.oldText)}" in ${write.target} by: ${short(write.content)}`
    case "remove":
      return `remove "${short(write.oldText)}" from ${write.target}`
    default:
      return assertNever(write)
  }
}

async function decide(
  id: string | undefined,
  { stagingPath }: Memory,
  decision: (staged: StagedWrite) => Promise<string> | string,
): Promise<string> {
  if (id === undefined) return USAGE
  const waiting = listStagedWrites(stagingPath)
  const meant = id.toLowerCase() === "all" ? waiting : waiting.filter((staged) => staged.id === id)
  if (waiting.length === 0) return NOTHING_WAITS
  if (meant.length === 0) return `No change with the id ${short(id)} waits. /memory pending lists them.`
  const lines: string[] = []
  for (const staged of meant) lines.push(await decision(staged))
  return lines.join("\n")
}

async function approve({ id, write }: StagedWrite, { store, stagingPath }: Memory): Promise<string> {
  const answer = await applyStagedWrite(stagingPath, id, store)
  return answer.kind === "done"
    ? `Done: ${writeText(write)}`
    : `Not done: ${writeText(write)}${answer.kind === "refused" ? ` (${answer.error})` : ""}`
}

function discard({ id, write }: StagedWrite, { stagingPath }: Memory): string {
  return discardStagedWrite(stagingPath, id) ? `Discarded: ${writeText(write)}` : `Not discarded: ${writeText(write)}`
}

function short(text: string): string {
  return ellipsize(text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim(), MAX_TEXT_CHARS)
}

function say(text: string): SlashOutcome {
  return { kind: "say", text }
}
