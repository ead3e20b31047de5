import { fileSize } from "../base/file-size.ts"
import { counted } from "../base/counted.ts"
import { discardArgument, mayDiscard } from "./discard.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/snapshot`: copies of the essential files of the home: sessions, settings, keys. */
export const snapshotCommand: SlashCommand = {
  name: "snapshot",
  aliases: ["snap"],
  category: "information",
  help: "save, list, restore or remove copies of sessions, settings and keys",
  argument: "[list | create [LABEL] | restore ID | prune [N]]",
  details:
    "restore replaces settings, keys and logins; the session database is restored with hermes import. prune keeps the newest N (5).",
  idleOnly: true,
  run: listOrChange,
}

const USAGE = "Usage: /snapshot, /snapshot create [LABEL], /snapshot restore ID, /snapshot prune [N]."
const KEPT_BY_DEFAULT = 5

async function listOrChange(argument: string, context: SlashContext): Promise<SlashOutcome> {
  const { app } = context
  const { text, isConfirmed } = discardArgument(argument)
  const [, action = "", rest = ""] = /^(\S*)\s*([^]*)$/u.exec(text) ?? []
  const snapshots = await import("../admin/backup/kept-snapshots.ts")
  switch (action.toLowerCase()) {
    case "":
    case "list": {
      const kept = snapshots.listSnapshots(app.home)
      if (kept.length === 0) return reply("There are no snapshots. /snapshot create makes one.")
      return reply(
        kept.map(({ id, files, bytes }) => `${id}  ${counted(files, "file")}, ${fileSize(bytes)}`).join("\n"),
      )
    }
    case "create": {
      const { takeSnapshot } = await import("../admin/backup/quick-snapshot.ts")
      const taken = await takeSnapshot(app, { label: rest === "" ? undefined : rest })
      if (!taken.ok) return reply(taken.error.message)
      const { id, files, bytes, path } = taken.value
      return reply(`Created ${id} with ${counted(files, "file")} (${fileSize(bytes)}) in ${path}.`)
    }
    case "restore": {
      if (rest === "") return reply(USAGE)
      const question = `Replace settings, keys and logins with those of ${rest}? The present ones are saved as a snapshot first.`
      if (!(await mayDiscard(question, { isConfirmed }, context))) return reply("Nothing was restored.")
      const restored = await snapshots.restoreSnapshot(app, rest)
      return reply(restored.ok ? restoredText(restored.value) : restored.error.message)
    }
    case "prune": {
      if (rest !== "" && !/^\d{1,4}$/u.test(rest)) return reply(USAGE)
      const kept = rest === "" ? KEPT_BY_DEFAULT : Number(rest)
      const question = `Remove all snapshots except the newest ${kept}?`
      if (!(await mayDiscard(question, { isConfirmed }, context))) return reply("Nothing was removed.")
      return reply(`Removed ${counted(snapshots.pruneSnapshots(app.home, kept), "snapshot")}.`)
    }
    default:
      return reply(USAGE)
  }
}

function restoredText({
  files,
  databases,
  saved,
}: {
  readonly files: readonly string[]
  readonly databases: readonly string[]
  readonly saved: string
}): string {
  return [
    files.length === 0 ? "Nothing was restored." : `Restored ${files.join(", ")}. Start Hermes again to use them.`,
    ...(databases.length === 0
      ? []
      : [`Not restored, because they are in use: ${databases.join(", ")}. Copy them while no Hermes is running.`]),
    `What was there before is in the snapshot ${saved}.`,
  ].join("\n")
}
