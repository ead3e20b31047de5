import type { Clock } from "../../base/clock.ts"
import type { Checkpoints } from "../../exec/checkpoints/checkpoints.ts"
import type { Snapshot } from "../../exec/checkpoints/snapshot-list.ts"
import { relativeTime } from "../../terminal/relative-time.ts"
import type { Choice, ChoiceList, Preview } from "../choice-list.ts"

/** What to restore: all files of a snapshot, or one. */
export interface RestoreChoice {
  readonly hash: string
  readonly file: string | undefined
}

type Source = Pick<Checkpoints, "list" | "diff" | "root">

/** The snapshots of a project with what restoring each would change, and then its files. */
export function rollbackList(checkpoints: Source, { clock }: { readonly clock: Clock }): ChoiceList<RestoreChoice> {
  return {
    title: `Snapshots of ${checkpoints.root()}`,
    hint: "Enter shows the files; each snapshot is named after the first change that it takes back",
    emptyText: `There are no snapshots of ${checkpoints.root()} yet.`,
    load: async (signal) => {
      const snapshots = await checkpoints.list({ limit: MAX_SNAPSHOTS, signal })
      return { choices: snapshots.map((snapshot) => snapshotChoice(snapshot, clock)) }
    },
    preview: ({ value }, signal) => diffPreview(checkpoints, value, signal),
    select: async ({ hash }, { signal }) => {
      const diff = await checkpoints.diff(hash, { signal })
      if (!diff.ok) return { kind: "stay", note: diff.error }
      if (diff.value.files.length === 0) return { kind: "stay", note: "Nothing has changed since this snapshot." }
      return { kind: "open", list: fileList(checkpoints, hash, diff.value) }
    },
  }
}

const MAX_SNAPSHOTS = 50

/** Without the counts of the snapshot: those are of the changes before it, and restoring takes back the ones after it. */
function snapshotChoice({ hash, short, time, reason }: Snapshot, clock: Clock): Choice<RestoreChoice> {
  return {
    value: { hash, file: undefined },
    label: reason,
    details: [relativeTime(time, clock.now() / 1000), short],
  }
}

function fileList(
  checkpoints: Source,
  hash: string,
  { files, added }: { readonly files: readonly string[]; readonly added: readonly string[] },
): ChoiceList<RestoreChoice> {
  const all: Choice<RestoreChoice> = {
    value: { hash, file: undefined },
    label: files.length === 1 ? "Restore everything (1 file)" : `Restore everything (${files.length} files)`,
    description: "and remove your message and the reply from the conversation",
  }
  const single = files.map((file): Choice<RestoreChoice> => {
    const isAdded = added.includes(file)
    return {
      value: { hash, file },
      label: file,
      details: [isAdded ? "is removed" : "is restored"],
      group: "Or only one file",
    }
  })
  return {
    title: "What to restore",
    hint: "Enter restores it",
    load: () => Promise.resolve({ choices: [all, ...single] }),
    preview: ({ value }, signal) => diffPreview(checkpoints, value, signal),
  }
}

async function diffPreview(checkpoints: Source, { hash, file }: RestoreChoice, signal: AbortSignal): Promise<Preview> {
  const diff = await checkpoints.diff(hash, { signal, ...(file === undefined ? {} : { file }) })
  if (!diff.ok) return { kind: "text", text: `The changes cannot be shown: ${diff.error}.` }
  if (diff.value.files.length === 0) return { kind: "text", text: "Nothing has changed since this snapshot." }
  return { kind: "diff", text: diff.value.text }
}
