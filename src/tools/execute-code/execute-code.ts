import { z } from "zod"

import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { ellipsize } from "../../base/text.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import { digestLines, digestValue } from "../../toolkit/digest-line.ts"
import { asCommandLine, LANGUAGES } from "./languages.ts"

/** `describe-script-tool.ts` adds the functions of the session to the description. */
export const executeCode = defineTool({
  name: "execute_code",
  toolset: "code_execution",
  description:
    "Run a script that calls tools: for three or more calls with logic between them (loops, filters, retries). Only what it prints " +
    "returns to you, so print the result. Not for one call, or where you must read results in full or ask the user.",
  input: z.object({
    code: z.string().refine((code) => code.trim() !== "", "must not be empty"),
    language: z.enum(LANGUAGES).optional(),
    timeout: z.int().min(1).optional().describe("Seconds"),
  }),
  declarationRank: 13,
  access: "exec",
  subject: ({ code, language = "javascript" }) => [
    { kind: "name", name: language },
    { kind: "command", command: asCommandLine(code, language) },
  ],
  label: { emoji: "📜", verb: "script" },
  preview: ({ code, language = "javascript" }) => {
    const lines = code.trim().split("\n")
    const [first = ""] = lines
    return lines.length === 1 ? `${language}: ${first}` : `${language}, ${lines.length} lines: ${first} …`
  },
  provenance: "command",
  role: "script",
  inChildren: false,
  digest: ({ args, result }) => {
    const answer = parseJson(result)
    const lines = digestLines(isRecord(answer) ? (stringField(answer, "output") ?? "") : result)
    return `[execute_code] \`${ellipsize(digestValue(args["code"]).replaceAll(/\s+/gu, " "), 60)}\` (${lines} lines output)`
  },
  run: async (args, context) => (await import("./run-script.ts")).runScript(args, context),
})
