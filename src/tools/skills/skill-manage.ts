import { z } from "zod"

import { assertNever } from "../../base/assert-never.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { ellipsize } from "../../base/text.ts"
import type { SkillChange, SkillChangeResult } from "../../knowledge/skills/skill-change.ts"
import { SKILL_FILE } from "../../knowledge/skills/skill.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import { digestChars, digestValue } from "../../toolkit/digest-line.ts"
import type { AskPort } from "../../toolkit/ports/ask.ts"
import type { SkillsPort } from "../../toolkit/ports/skills.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"
import { replaceText } from "../file/patch/fuzzy/replace-text.ts"
import { boundDiff } from "../file/write/file-diff.ts"
import { unifiedDiff } from "../file/write/unified-diff.ts"

const text = z.string().optional()
const input = z.object({
  action: z.enum(["create", "edit", "patch", "delete", "write_file", "remove_file"]),
  name: z.string(),
  content: text.describe("Whole SKILL.md (create, edit)"),
  old_string: text,
  new_string: text,
  replace_all: z.boolean().default(false),
  category: text.describe("For create"),
  file_path: text.describe("Below references/, templates/, scripts/ or assets/"),
  file_content: text,
  absorbed_into: text.describe("For delete: skill that has the content now"),
})
type Arguments = z.output<typeof input>

export const skillManage = defineTool({
  name: "skill_manage",
  toolset: "skills",
  inChildren: false,
  description:
    "Save and improve skills. create after hard-won success: SKILL.md = front matter (---, name, description: what and when, ---) and " +
    "numbered steps, commands, pitfalls, checks. patch a skill that proved wrong, at once. Improve a similar skill instead of adding " +
    "one. Confirm deletes with the user.",
  input,
  declarationRank: 13,
  role: "skills",
  access: "write",
  subject: ({ name }) => ({ kind: "name", name }),
  label: { emoji: "📝", verb: "skill" },
  preview: ({ action, name, file_path: file }) => `${action} ${name}${file === undefined ? "" : `: ${file}`}`,
  digest: ({ args, result }) => `[skill_manage] name=${digestValue(args["name"])} (${digestChars(result)} chars)`,
  housekeeping: true,
  run: async (args, context) => {
    const port = await context.ports.skills?.()
    if (port === undefined) return failure("skills are not available here")
    const change = await changeFrom(args, port)
    if (!change.ok) return failure(change.error, { success: false })
    const result = await port.change(change.value, (question) => accepted(question, context.ports.ask))
    return answered(change.value, result, context)
  },
})

/** The change that the arguments describe. A patch is resolved to the text that it results in. */
async function changeFrom(args: Arguments, port: SkillsPort): Promise<Result<SkillChange>> {
  const { action, name, content, file_path: filePath, file_content: fileContent } = args
  const missing = (field: string): Result<never> => fail(`${action} needs \`${field}\``)
  switch (action) {
    case "create":
      return content === undefined ? missing("content") : ok({ action, name, category: args.category ?? "", content })
    case "edit":
      return content === undefined ? missing("content") : ok({ action, name, content })
    case "patch":
      return await patchedChange(args, port)
    case "write_file":
      if (filePath === undefined) return missing("file_path")
      return fileContent === undefined ? missing("file_content") : ok({ action, name, filePath, content: fileContent })
    case "remove_file":
      return filePath === undefined ? missing("file_path") : ok({ action, name, filePath })
    case "delete":
      return ok({ action, name, absorbedInto: args.absorbed_into ?? "" })
    default:
      return assertNever(action)
  }
}

async function patchedChange(args: Arguments, port: SkillsPort): Promise<Result<SkillChange>> {
  const { name, file_path: filePath, old_string: old, new_string: replacement, replace_all: all } = args
  if (old === undefined || replacement === undefined) return fail("patch needs `old_string` and `new_string`")
  const current = await port.readText(name, filePath)
  if (!current.ok) return current
  const replaced = replaceText(current.value, { old, replacement, all })
  if (!replaced.ok) return fail(`${filePath ?? SKILL_FILE}: ${replaced.error.message}`)
  const content = replaced.value.text
  return ok(
    filePath === undefined || filePath === SKILL_FILE
      ? { action: "edit", name, content }
      : { action: "write_file", name, filePath, content },
  )
}

function answered(change: SkillChange, result: SkillChangeResult, context: ToolContext): ToolResult {
  switch (result.kind) {
    case "done": {
      const { message, path, category, files, before, after } = result
      const name = change.action === "delete" ? change.name : path.slice(path.lastIndexOf(`/${change.name}/`) + 1)
      const diff = boundDiff(unifiedDiff(name, { before, after }), context)
      // The model has just written the whole text.
      const shown = change.action === "create" || change.action === "delete" ? {} : { diff: diff.forModel }
      return {
        content: {
          success: true,
          message,
          ...(change.action === "delete" ? {} : { path }),
          ...(category === "" ? {} : { category }),
          ...(files.length === 0 ? {} : { files }),
          ...shown,
        },
        summary: message,
        diff: diff.forUser,
      }
    }
    case "staged":
      return { content: { success: true, staged: result.id, message: result.message }, summary: "staged" }
    case "refused": {
      const { error, similar } = result
      return failure(error, { success: false, ...(similar === undefined ? {} : { similar_skill: similar }) })
    }
    default:
      return assertNever(result)
  }
}

const MAX_QUESTION_CHARS = 1500
const YES = "Yes"

async function accepted(question: string, ask: AskPort | undefined): Promise<boolean> {
  const answer = await ask?.ask({
    kind: "question",
    asker: "hermes",
    question: ellipsize(question, MAX_QUESTION_CHARS),
    choices: [YES, "No"],
    allowFreetext: false,
  })
  return answer?.kind === "answer" && answer.text.trim().toLowerCase().startsWith("y")
}
