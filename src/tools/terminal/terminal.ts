import { z } from "zod"

import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { ellipsize } from "../../base/text.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import { looksDestructive } from "./destructive-command.ts"
import { digestLines, digestValue } from "../../toolkit/digest-line.ts"

export const terminal = defineTool({
  name: "terminal",
  claudeCode: { name: "Bash" },
  toolset: "terminal",
  inScripts: true,
  scripts: { omits: ["background", "pty", "notify_on_complete", "watch_patterns"], returns: "output, exit_code" },
  description:
    "Run a shell command; returns its output and exit code when it ends, so give slow ones a generous timeout. Directory, variables, " +
    "functions and aliases persist between calls. Never use nohup or &: background=true is for servers and long jobs, with " +
    "notify_on_complete for those that end. No interactive prompts without pty. To read, search or edit files use the file tools.",
  input: z.object({
    command: z.string().min(1),
    background: z.boolean().optional(),
    timeout: z.int().min(1).optional().describe("Seconds, foreground only (default 180)"),
    workdir: z.string().min(1).optional(),
    pty: z.boolean().optional().describe("In a pseudo-terminal, for interactive programs"),
    notify_on_complete: z.boolean().optional().describe("Notify you once when it ends"),
    watch_patterns: z
      .array(z.string().min(1))
      .optional()
      .describe("Notify you of output lines with one of these texts; only for rare signals"),
  }),
  declarationRank: 1,
  lean: true,
  access: "exec",
  subject: ({ command }) => ({ kind: "command", command }),
  label: { emoji: "💻", verb: "$" },
  preview: ({ command }) => (looksDestructive(command) ? `${command}  [changes files]` : command),
  provenance: "command",
  role: "shell",
  digest: ({ args, result }) => {
    const answer = parseJson(result)
    const code = isRecord(answer) && typeof answer["exit_code"] === "number" ? answer["exit_code"] : "?"
    const lines = digestLines(stringField(answer, "output") ?? result)
    return `[terminal] ran \`${ellipsize(digestValue(args["command"]), 80)}\` -> exit ${code}, ${lines} lines output`
  },
  // Running needs the shell parser, which a session without commands never loads.
  run: async (args, context) => (await import("./run-terminal.ts")).runTerminal(args, context),
})
