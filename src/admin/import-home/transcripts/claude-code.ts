import { isRecord, stringField } from "../../../base/json.ts"
import type { ForeignFiles } from "../foreign-files.ts"
import { IMAGE_NOTE, argumentsText, timeOf } from "./transcript.ts"
import type {
  TranscriptCall,
  TranscriptEntry,
  TranscriptFile,
  TranscriptFiles,
  TranscriptFormat,
} from "./transcript.ts"
import type { TranscriptLine } from "./transcript.ts"

/** `projects/<directory>/<session>.jsonl`, with sub-agents as `agent-*.jsonl` beside it or in `<session>/subagents/`. */
export const claudeCodeTranscripts: TranscriptFormat = { find, decode }

function find(files: ForeignFiles): TranscriptFiles {
  const conversations: TranscriptFile[] = []
  const agents: TranscriptFile[] = []
  for (const project of files.list("projects")) {
    if (project.kind !== "directory") continue
    for (const entry of files.list(project.path)) {
      const id = entry.name.replace(/\.jsonl$/u, "")
      if (entry.kind === "directory") {
        for (const { name, path, size } of files.list(`${entry.path}/subagents`))
          if (name.endsWith(".jsonl")) agents.push({ path, size, id: agentId(entry.name, name), parent: entry.name })
        continue
      }
      if (id === entry.name) continue
      // Which conversation an agent beside it belongs to is only said in its lines.
      if (id.startsWith("agent-")) agents.push({ path: entry.path, size: entry.size, id, parent: "" })
      else conversations.push({ path: entry.path, size: entry.size, id })
    }
  }
  return { transcripts: [...conversations, ...agents], skipped: [] }
}

function agentId(session: string, name: string): string {
  return `${session}-${name.replace(/\.jsonl$/u, "")}`
}

function decode(line: Readonly<Record<string, unknown>>): TranscriptLine {
  const type = line["type"]
  const at = timeOf(line["timestamp"])
  if (type === "summary") {
    const leaf = stringField(line, "leafUuid")
    const title = stringField(line, "summary")
    return { entries: [], facts: { ...(title && { title }), ...(leaf && { titleOf: leaf }) } }
  }
  const title = stringField(line, "customTitle") ?? stringField(line, "aiTitle")
  if (title !== undefined) return { entries: [], facts: { title } }
  const uuid = stringField(line, "uuid")
  const { message } = line
  const parent = stringField(line, "parentUuid") ?? stringField(line, "logicalParentUuid")
  const isConversation = (type === "user" || type === "assistant") && isRecord(message)
  const entries = isConversation && line["isMeta"] !== true ? entriesOf(line, message, at) : []
  const cwd = stringField(line, "cwd")
  const model = isRecord(message) ? stringField(message, "model") : undefined
  const session = stringField(line, "sessionId")
  return {
    entries,
    ...(uuid !== undefined && { link: { id: uuid, parent, isPrompt: entries.some((entry) => entry.type === "user") } }),
    ...(line["isSidechain"] === true && { isSidechain: true }),
    facts: {
      ...(cwd !== undefined && { cwd }),
      // `<synthetic>` marks messages of the program itself.
      ...(model !== undefined && !model.startsWith("<") && { model }),
      ...(at !== undefined && { at }),
      ...(session !== undefined && { session }),
    },
  }
}

function entriesOf(
  line: Readonly<Record<string, unknown>>,
  message: Readonly<Record<string, unknown>>,
  at: number | undefined,
): readonly TranscriptEntry[] {
  const { content } = message
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : Array.isArray(content) ? content : []
  if (line["type"] === "assistant") {
    if (line["isApiErrorMessage"] === true) return []
    const calls = blocks.flatMap(callOf)
    const text = textOf(blocks)
    const reasoning = blocks.flatMap((block) => stringField(block, "thinking") ?? []).join("\n\n")
    if (calls.length === 0 && text === "" && reasoning === "") return []
    return [{ type: "assistant", reply: stringField(message, "id"), text, reasoning, calls, at }]
  }
  const results = blocks.flatMap((block): readonly TranscriptEntry[] => {
    const call = stringField(block, "tool_use_id")
    return call === undefined ? [] : [{ type: "result", call, text: resultText(block), at }]
  })
  const text = textOf(blocks)
  if (text === "" || OWN_TEXT.test(text)) return results
  if (line["isCompactSummary"] === true) return [...results, { type: "summary", text, at }]
  return [...results, { type: "user", text, at }]
}

/** Slash commands and their output, which the program stores as messages of the user. */
const OWN_TEXT =
  /^\s*(?:<(?:command-(?:name|message|args)|local-command-\w+|bash-(?:input|stdout|stderr))>|\[Request interrupted by user)/u

function callOf(block: unknown): readonly TranscriptCall[] {
  if (!isRecord(block) || block["type"] !== "tool_use") return []
  const id = stringField(block, "id")
  const name = stringField(block, "name")
  return id === undefined || name === undefined ? [] : [{ id, name, arguments: argumentsText(block["input"]) }]
}

function resultText(block: unknown): string {
  const content = isRecord(block) ? block["content"] : undefined
  return typeof content === "string" ? content : textOf(Array.isArray(content) ? content : [])
}

function textOf(blocks: readonly unknown[]): string {
  return blocks
    .flatMap((block) => {
      const type = stringField(block, "type")
      if (type === "image" || type === "document") return IMAGE_NOTE
      return type === "text" ? (stringField(block, "text") ?? []) : []
    })
    .join("\n\n")
    .trim()
}
