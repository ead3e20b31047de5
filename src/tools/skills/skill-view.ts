import { z } from "zod"

import { isRecord, parseJson } from "../../base/json.ts"
import { expandInlineCommands, hasInlineCommands } from "../../knowledge/skills/skill-text.ts"
import { PROJECT_SKILL_NOTE } from "../../knowledge/skills/skill-message.ts"
import type { SkillSource } from "../../knowledge/skills/skill.ts"
import type { ViewedSkill } from "../../knowledge/skills/view-skill.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import { digestChars, digestValue } from "../../toolkit/digest-line.ts"
import type { SkillsPort } from "../../toolkit/ports/skills.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"
import { askForVariables } from "./ask-for-variables.ts"

export const skillView = defineTool({
  name: "skill_view",
  toolset: "skills",
  description:
    "Load a skill before doing work that it covers, then follow it. With file_path: open one of its linked files.",
  input: z.object({
    name: z.string().describe("Name, or category/name"),
    file_path: z.string().optional().describe("E.g. references/api.md"),
  }),
  declarationRank: 8,
  role: "skills",
  access: "read",
  subject: ({ name }) => ({ kind: "name", name }),
  label: { emoji: "📚", verb: "skill" },
  preview: ({ name, file_path: file }) => (file === undefined ? name : `${name}: ${file}`),
  digest: ({ args, result }) => `[skill_view] name=${digestValue(args["name"])} (${digestChars(result)} chars)`,
  parallel: "safe",
  newestResultOnly: true,
  run: async ({ name, file_path: file }, context) => {
    const port = await context.ports.skills?.()
    if (port === undefined) return failure("skills are not available here")
    return file === undefined || file === "" ? await viewSkill(name, port, context) : await viewFile(name, file, port)
  },
})

async function viewSkill(name: string, port: SkillsPort, context: ToolContext): Promise<ToolResult> {
  const found = await port.view(name)
  if (!found.ok) return notFound(found.error)
  const asked = await askForVariables(found.value, port, context)
  const again = asked.isStored ? await port.view(name) : found
  const skill = again.ok ? again.value : found.value
  const passed = await port.loaded(skill)
  const content = await withInlineCommands(skill, port, context)
  const { readiness, linked } = skill
  const isMissing = readiness.missingVariables.length > 0 || readiness.missingFiles.length > 0
  const notes = [readiness.note, ...skill.warnings, ...passed, ...asked.notes].filter((note) => note !== "").join("\n")
  return {
    content: {
      success: true,
      name: skill.name,
      description: skill.description,
      tags: skill.tags,
      related_skills: skill.related,
      content,
      path: skill.path,
      skill_dir: skill.directory,
      linked_files: linked,
      usage_hint: linked === null ? null : "skill_view with file_path opens a linked file",
      required_environment_variables: skill.needs.variables.map((variable) => variable.name),
      missing_required_environment_variables: readiness.missingVariables,
      missing_credential_files: readiness.missingFiles,
      setup_needed: isMissing,
      setup_skipped: asked.isSkipped,
      readiness_status: skill.isSupported ? (isMissing ? "setup_needed" : "available") : "unsupported",
      setup_help: skill.needs.setupHelp === "" ? null : skill.needs.setupHelp,
      setup_note: notes === "" ? null : notes,
      gateway_setup_hint: null,
      ...(skill.settings.length === 0
        ? {}
        : { config: Object.fromEntries(skill.settings.map(({ key, value }) => [key, value])) }),
      metadata: skill.metadata,
      ...originField(skill.source),
    },
    summary: `loaded ${skill.name}`,
    ...provenanceOf(skill.source),
  }
}

async function viewFile(name: string, file: string, port: SkillsPort): Promise<ToolResult> {
  const found = await port.viewFile(name, file)
  if (!found.ok) return notFound(found.error)
  const { kind, name: skill, file: path, type, source } = found.value
  const shown =
    kind === "text" ? { content: found.value.text } : { content: null, is_binary: true, size_bytes: found.value.bytes }
  return {
    content: { success: true, name: skill, file: path, ...shown, file_type: type, ...originField(source) },
    summary: `opened ${path}`,
    ...provenanceOf(source),
  }
}

/** The authors of a project are not the user: their text is sent like that of any other file. */
function provenanceOf(source: SkillSource): Pick<ToolResult, "provenance"> {
  return source === "project" ? { provenance: "file" } : {}
}

function originField(source: SkillSource): { readonly origin?: string } {
  return source === "project" ? { origin: PROJECT_SKILL_NOTE } : {}
}

function notFound({
  message,
  suggestions,
}: {
  readonly message: string
  readonly suggestions: readonly string[]
}): ToolResult {
  return failure(message, { success: false, ...(suggestions.length === 0 ? {} : { available: suggestions }) })
}

/** Each snippet is a call of the shell tool and is judged like one. Skills of the project never run any. */
async function withInlineCommands(skill: ViewedSkill, port: SkillsPort, { ports }: ToolContext): Promise<string> {
  const { inlineCommands } = port
  if (inlineCommands === undefined || skill.source === "project" || !hasInlineCommands(skill.content))
    return skill.content
  const { callTool } = ports
  return await expandInlineCommands(skill.content, async (command) => {
    if (callTool === undefined) return "[not run: commands cannot run here]"
    const { outcome, text } = await callTool.call(inlineCommands.tool, {
      command,
      timeout: inlineCommands.timeoutSeconds,
    })
    const result = parseJson(text)
    const { output, error }: Readonly<Record<string, unknown>> = isRecord(result) ? result : {}
    if (outcome === "ok" && typeof output === "string") return output
    return `[not run: ${typeof error === "string" && error !== "" ? error : outcome}]`
  })
}
