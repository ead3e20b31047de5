import { memoryStatus, type MemoryFileStatus } from "../../../admin/memory/memory.ts"
import { counted } from "../../../base/counted.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { plainText } from "../../../terminal/printable-text.ts"
import { oneLine } from "../../../terminal/text-layout.ts"

/** `hermes memory [status]` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, flags } = invocation
  const { files, memoryProvider, writeApproval, stagedWrites, notices } = await memoryStatus(homeContext(invocation))
  if (flags.has("json")) {
    printJson(terminal, {
      files: files.map(({ target, enabled, content }) => ({
        name: target === "memory" ? "MEMORY.md" : "USER.md",
        enabled,
        usable: content !== undefined,
        usage: content?.usage ?? null,
        entries: content?.entries ?? [],
      })),
      provider: memoryProvider === "" ? null : memoryProvider,
      write_approval: writeApproval,
      pending: stagedWrites,
    })
    return 0
  }
  for (const file of files) {
    terminal.line(`${(file.target === "memory" ? "MEMORY.md" : "USER.md").padEnd(10)} ${oneLine(fileText(file))}`)
    for (const entry of file.content?.entries ?? []) terminal.line(entryText(entry))
  }
  const rows: readonly (readonly [name: string, value: string])[] = [
    ["provider", memoryProvider === "" ? "none, only the two files are used" : `${memoryProvider} (not installed)`],
    ["approval", writeApproval ? "you are asked before every change" : "not needed"],
    [
      "waiting",
      stagedWrites === 0 ? "nothing" : `${counted(stagedWrites, "change")}; decide with /memory in a conversation`,
    ],
  ]
  for (const [name, value] of rows) terminal.line(`${name.padEnd(10)} ${oneLine(value)}`)
  for (const notice of notices) terminal.errLine(oneLine(notice))
  return 0
}

function entryText(entry: string): string {
  return `  - ${plainText(entry).replaceAll("\n", "\n    ")}`
}

function fileText({ content, enabled }: MemoryFileStatus): string {
  const off = enabled ? "" : " (turned off)"
  return content === undefined ? `not usable${off}` : `${content.usage}, ${content.message}${off}`
}
