import type { Result } from "../base/result.ts"
import { ellipsize } from "../base/text.ts"
import type { Checkpoints } from "../exec/checkpoints/checkpoints.ts"
import type { Snapshot } from "../exec/checkpoints/snapshot-list.ts"
import type { SlashCommand, SlashContext, SlashOutcome } from "./slash-command.ts"

/** What the command needs of the running session. */
export interface RollbackAccess {
  readonly checkpoints: Pick<Checkpoints, "diff" | "list" | "others" | "restore" | "root">
  readonly enabled: boolean
  /** Takes the last message of the person and all that followed out of the conversation; false when there is none. */
  readonly dropLastTurn?: () => Promise<boolean>
}

/** `/rollback`: the snapshots of this project, what changed since one of them, and the way back. */
export function rollbackCommand(
  accessOf: (context: SlashContext) => Promise<RollbackAccess | undefined>,
): SlashCommand {
  return {
    name: "rollback",
    help: "list snapshots of the files, or go back to one",
    argument: "[N|HASH [FILE] | diff N|HASH [FILE]]",
    idle: true,
    run: async (argument, context) => {
      const access = await accessOf(context)
      if (access === undefined) return say("There are no snapshots here: the files are not on this machine.")
      const wish = readWish(argument)
      if (wish === undefined) return say(USAGE)
      const known = await access.checkpoints.list({ limit: MAX_SHOWN, signal: context.signal })
      if (wish.kind === "list" || known.length === 0) return say(listText(known, access))
      const chosen = chosenIn(known, wish.chosen)
      if (chosen === undefined) return say(`There is no snapshot ${wish.chosen}; /rollback lists ${known.length}.`)
      const options = { signal: context.signal, ...(wish.file === undefined ? {} : { file: wish.file }) }
      return say(wish.kind === "diff" ? await diffText(chosen, options, access) : await goBack(chosen, options, access))
    },
  }
}

const USAGE =
  "Use /rollback, /rollback diff N [FILE], /rollback N or /rollback N FILE; instead of the number N the hash of a snapshot will do."
const MAX_SHOWN = 50
const MAX_LINES = 200
const MAX_PATHS = 15

type Wish =
  | { readonly kind: "list" }
  | { readonly kind: "diff" | "restore"; readonly chosen: string; readonly file: string | undefined }

function readWish(argument: string): Wish | undefined {
  const text = argument.trim()
  if (text === "" || text === "list") return { kind: "list" }
  const [, diff, chosen = "", file] = /^(diff\s+)?(\d{1,6}|[\da-f]{4,64})(?:\s+(\S[^]*))?$/iu.exec(text) ?? []
  if (chosen === "") return undefined
  return { kind: diff === undefined ? "restore" : "diff", chosen: chosen.toLowerCase(), file }
}

/** By its number in the list, else by its hash. The store knows more than the list shows, and says when several begin like that. */
function chosenIn(known: readonly Snapshot[], chosen: string): Chosen | undefined {
  const numbered = chosen.length <= MAX_DIGITS && /^\d+$/u.test(chosen) ? known[Number(chosen) - 1] : undefined
  if (numbered !== undefined) return numbered
  return chosen.length < MIN_HASH_DIGITS ? undefined : { hash: chosen, short: chosen.slice(0, 8) }
}

type Chosen = Pick<Snapshot, "hash" | "short">

const MAX_DIGITS = 6
const MIN_HASH_DIGITS = 4

function listText(known: readonly Snapshot[], { checkpoints, enabled }: RollbackAccess): string {
  if (known.length === 0) {
    return enabled
      ? `There are no snapshots of ${checkpoints.root()} yet; one is taken before the first change of each turn.`
      : "Snapshots are switched off. Turn them on with: hermes config set checkpoints.enabled true"
  }
  const width = String(known.length).length
  return [
    `Snapshots of ${checkpoints.root()}, newest first:`,
    ...known.map((snapshot, index) => `${String(index + 1).padStart(width)}. ${snapshotLine(snapshot)}`),
    "/rollback diff N shows what changed since, /rollback N goes back, /rollback N FILE brings back one file.",
    ...checkpoints
      .others()
      .map((other) => `There are also snapshots of ${other}: go there and use hermes checkpoints list.`),
  ].join("\n")
}

function snapshotLine({ short, time, reason, filesChanged, insertions, deletions }: Snapshot): string {
  const changes = filesChanged === 0 ? "" : `  (${files(filesChanged)}, +${insertions} -${deletions})`
  return `${short}  ${new Date(time * 1000).toLocaleString("sv-SE")}  ${ellipsize(reason, 80)}${changes}`
}

type Options = { readonly file?: string; readonly signal: AbortSignal }

async function diffText(chosen: Chosen, options: Options, { checkpoints }: RollbackAccess): Promise<string> {
  const found = await checkpoints.diff(chosen.hash, options)
  if (!found.ok) return sentence(found)
  if (found.value.files.length === 0) return "Nothing has changed since then."
  const lines = printable(found.value.text).trimEnd().split("\n")
  const left = lines.length - MAX_LINES
  return [
    ...lines.slice(0, MAX_LINES),
    ...(left > 0 || found.value.truncated ? [`… more is not shown; name a file to see it alone.`] : []),
    `${files(found.value.files.length)} changed since ${chosen.short}.`,
  ].join("\n")
}

async function goBack(chosen: Chosen, options: Options, access: RollbackAccess): Promise<string> {
  const done = await access.checkpoints.restore(chosen.hash, options)
  if (!done.ok) return sentence(done)
  const { written, removed, kept, before } = done.value
  const changed = [...written, ...removed.map((path) => `${path} (removed)`)]
  const dropped = options.file === undefined && changed.length > 0 && (await access.dropLastTurn?.()) === true
  return [
    changed.length === 0 ? "The files were already as they were then." : `Back at ${chosen.short}: ${paths(changed)}.`,
    ...(kept.length === 0 ? [] : [`Not restored: ${paths(kept.map(({ path, why }) => `${path} (${why})`))}.`]),
    ...(dropped ? ["Your last message and what followed it were taken out of the conversation."] : []),
    ...(changed.length === 0 ? [] : [`To undo this: /rollback ${before.slice(0, 8)}`]),
  ].join("\n")
}

function paths(names: readonly string[]): string {
  const shown = names.slice(0, MAX_PATHS).map((name) => printable(name).replaceAll("\n", "?"))
  return names.length > MAX_PATHS ? `${shown.join(", ")} and ${names.length - MAX_PATHS} more` : shown.join(", ")
}

function files(count: number): string {
  return `${count} file${count === 1 ? "" : "s"}`
}

/** What a file holds must not drive the terminal. */
function printable(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(/(?![\n\t])\p{Cc}/gu, "?")
}

function sentence(result: Extract<Result<unknown>, { ok: false }>): string {
  const { error } = result
  return `${error.slice(0, 1).toUpperCase()}${error.slice(1)}${/[.!?]$/u.test(error) ? "" : "."}`
}

function say(text: string): SlashOutcome {
  return { kind: "say", text }
}
