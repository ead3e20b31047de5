import { isRecord, stringField } from "../../../base/json.ts"
import type { ForeignFiles } from "../foreign-files.ts"
import { parseJson5 } from "../json5.ts"
import { IMAGE_NOTE, argumentsText, timeOf } from "./transcript.ts"
import type {
  TranscriptCall,
  TranscriptEntry,
  TranscriptFile,
  TranscriptFiles,
  TranscriptFormat,
} from "./transcript.ts"
import type { TranscriptLine } from "./transcript.ts"

/** `agents/<agent>/sessions/<session>.jsonl`, described by `sessions.json` beside them; `sessions/` in the first versions. */
export const openclawTranscripts: TranscriptFormat = { find, decode }

function find(files: ForeignFiles): TranscriptFiles {
  const conversations: TranscriptFile[] = []
  const subAgents: TranscriptFile[] = []
  const directories = [...files.list("agents").map(({ path }) => `${path}/sessions`), "sessions"]
  for (const directory of directories) {
    const known = readIndex(files, directory)
    for (const { name, path, kind, size } of files.list(directory)) {
      // A conversation that was reset or deleted keeps its name with a suffix after `.jsonl`; it is not imported.
      const [, id] = kind === "file" ? (/^(.+)\.jsonl$/u.exec(name) ?? []) : []
      if (id === undefined) continue
      const { title, parent } = known.get(id) ?? {}
      const file = { path, size, id, ...(title !== undefined && { title }) }
      if (parent === undefined) conversations.push(file)
      else subAgents.push({ ...file, parent })
    }
  }
  return { transcripts: [...conversations, ...subAgents], skipped: [] }
}

const MAX_INDEX_BYTES = 50_000_000

interface KnownSession {
  readonly title?: string
  readonly parent?: string
}

function readIndex(files: ForeignFiles, directory: string): ReadonlyMap<string, KnownSession> {
  const index = parseJson5(files.read(`${directory}/sessions.json`, { maxBytes: MAX_INDEX_BYTES }) ?? "{}")
  if (!isRecord(index)) return new Map()
  const ids = new Map(Object.entries(index).map(([key, value]) => [key, stringField(value, "sessionId") ?? ""]))
  return new Map(
    Object.entries(index).flatMap(([key, value]): readonly [string, KnownSession][] => {
      const id = ids.get(key)
      if (id === undefined || id === "") return []
      const title = stringField(value, "label") ?? stringField(value, "displayName") ?? stringField(value, "subject")
      const isSubAgent = key.includes(":subagent:")
      const parent = isSubAgent ? (ids.get(stringField(value, "spawnedBy") ?? "") ?? "") : undefined
      return [[id, { ...(title !== undefined && { title }), ...(parent !== undefined && { parent }) }]]
    }),
  )
}

function decode(line: Readonly<Record<string, unknown>>): TranscriptLine {
  const at = timeOf(line["timestamp"])
  const id = stringField(line, "id")
  const { message } = line
  switch (line["type"]) {
    case "session": {
      const cwd = stringField(line, "cwd")
      return { entries: [], facts: { ...(cwd !== undefined && { cwd }), ...(at !== undefined && { at }) } }
    }
    case "session_info": {
      const title = stringField(line, "name")
      return { entries: [], facts: { ...(title !== undefined && { title }) }, ...linked(line, false) }
    }
    case "model_change": {
      const model = stringField(line, "modelId")
      return { entries: [], facts: { ...(model !== undefined && { model }) }, ...linked(line, false) }
    }
    case "compaction":
      return { entries: [{ type: "summary", text: stringField(line, "summary") ?? "", at }], ...linked(line, false) }
    case "message": {
      if (!isRecord(message)) return { entries: [] }
      const entries = entriesOf(message, timeOf(message["timestamp"]) ?? at)
      const model = stringField(message, "model")
      return {
        entries,
        facts: { ...(at !== undefined && { at }), ...(model !== undefined && { model }) },
        ...linked(line, message["role"] === "user"),
      }
    }
    default:
      return id === undefined ? { entries: [] } : { entries: [], ...linked(line, false) }
  }
}

function linked(line: Readonly<Record<string, unknown>>, isPrompt: boolean): Pick<TranscriptLine, "link"> {
  const id = stringField(line, "id")
  // The first versions stored a plain list without ids.
  return id === undefined ? {} : { link: { id, parent: stringField(line, "parentId"), isPrompt } }
}

function entriesOf(message: Readonly<Record<string, unknown>>, at: number | undefined): readonly TranscriptEntry[] {
  const { content } = message
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : Array.isArray(content) ? content : []
  const text = textOf(blocks)
  switch (message["role"]) {
    case "user":
      return text === "" ? [] : [{ type: "user", text, at }]
    case "assistant": {
      const calls = blocks.flatMap(callOf)
      const reasoning = blocks.flatMap((block) => stringField(block, "thinking") ?? []).join("\n\n")
      if (calls.length === 0 && text === "" && reasoning === "") return []
      return [{ type: "assistant", reply: undefined, text, reasoning, calls, at }]
    }
    case "toolResult": {
      const call = stringField(message, "toolCallId")
      return call === undefined ? [] : [{ type: "result", call, text, at }]
    }
    default:
      return []
  }
}

function callOf(block: unknown): readonly TranscriptCall[] {
  if (!isRecord(block) || block["type"] !== "toolCall") return []
  const id = stringField(block, "id")
  const name = stringField(block, "name")
  return id === undefined || name === undefined ? [] : [{ id, name, arguments: argumentsText(block["arguments"]) }]
}

function textOf(blocks: readonly unknown[]): string {
  return blocks
    .flatMap((block) => {
      const type = stringField(block, "type")
      if (type === "image") return IMAGE_NOTE
      return type === "text" ? (stringField(block, "text") ?? []) : []
    })
    .join("\n\n")
    .trim()
}
