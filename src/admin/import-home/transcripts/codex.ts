import { isRecord, parseJson, stringField } from "../../../base/json.ts"
import { valueIn } from "../foreign-home.ts"
import type { ForeignFiles } from "../foreign-files.ts"
import { IMAGE_NOTE, argumentsText, timeOf } from "./transcript.ts"
import type {
  TranscriptEntry,
  TranscriptFacts,
  TranscriptFile,
  TranscriptFiles,
  TranscriptFormat,
} from "./transcript.ts"
import type { TranscriptLine } from "./transcript.ts"

/** `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, and the same in `archived_sessions`. */
export const codexTranscripts: TranscriptFormat = { find, decode }

const MAX_DEPTH = 4

function find(files: ForeignFiles): TranscriptFiles {
  const titles = readTitles(files)
  const transcripts: TranscriptFile[] = []
  const skipped: { what: string; reason: string }[] = []
  const visit = (directory: string, depth: number): void => {
    for (const { name, path, kind, size } of files.list(directory)) {
      if (kind === "directory") {
        if (depth < MAX_DEPTH) visit(path, depth + 1)
        continue
      }
      if (/^rollout-.*\.json$/u.test(name))
        skipped.push({ what: path, reason: "the format of the first Codex versions cannot be read" })
      const [, id] = /^rollout-(?:\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-)?(.+)\.jsonl$/u.exec(name) ?? []
      if (id === undefined) continue
      const title = titles.get(id)
      transcripts.push({ path, size, id, ...(title !== undefined && { title }) })
    }
  }
  visit("sessions", 1)
  visit("archived_sessions", 1)
  return { transcripts, skipped }
}

const MAX_INDEX_BYTES = 20_000_000

/** `session_index.jsonl` names the conversations; later lines win. */
function readTitles(files: ForeignFiles): ReadonlyMap<string, string> {
  const lines = files.read("session_index.jsonl", { maxBytes: MAX_INDEX_BYTES })?.split("\n") ?? []
  return new Map(
    lines.flatMap((line): readonly [string, string][] => {
      const value = parseJson(line)
      const id = stringField(value, "id")
      const name = stringField(value, "thread_name")
      return id === undefined || name === undefined ? [] : [[id, name]]
    }),
  )
}

function decode(line: Readonly<Record<string, unknown>>): TranscriptLine {
  const at = timeOf(line["timestamp"])
  const { payload } = line
  // Until version 0.32 lines were the items themselves, and the first one described the session.
  if (!isRecord(payload)) {
    if (typeof line["type"] === "string") return { entries: entriesOf(line, at) }
    const id = stringField(line, "id")
    return { entries: [], facts: { ...(id !== undefined && { id }), ...(at !== undefined && { at }) } }
  }
  switch (line["type"]) {
    case "session_meta":
      return { entries: [], facts: sessionFacts(payload, at) }
    case "turn_context": {
      const cwd = stringField(payload, "cwd")
      const model = stringField(payload, "model")
      return { entries: [], facts: { ...(cwd !== undefined && { cwd }), ...(model !== undefined && { model }) } }
    }
    case "event_msg": {
      const title = payload["type"] === "thread_name_updated" ? stringField(payload, "thread_name") : undefined
      return { entries: [], ...(title !== undefined && { facts: { title } }) }
    }
    case "compacted": {
      const text = stringField(payload, "message") ?? ""
      return { entries: text === "" ? [] : [{ type: "summary", text, at }] }
    }
    case "response_item":
      return { entries: entriesOf(payload, at), ...(at !== undefined && { facts: { at } }) }
    default:
      return { entries: [] }
  }
}

function sessionFacts(payload: Readonly<Record<string, unknown>>, at: number | undefined): TranscriptFacts {
  const id = stringField(payload, "id")
  const cwd = stringField(payload, "cwd")
  const started = timeOf(payload["timestamp"]) ?? at
  const subAgent = valueIn(payload, "source", "subagent")
  const parent = valueIn(subAgent, "thread_spawn", "parent_thread_id")
  return {
    ...(id !== undefined && { id }),
    ...(cwd !== undefined && { cwd }),
    ...(started !== undefined && { at: started }),
    ...(typeof parent === "string" ? { parent } : subAgent !== undefined && { isInternal: true }),
  }
}

function entriesOf(item: Readonly<Record<string, unknown>>, at: number | undefined): readonly TranscriptEntry[] {
  const call = stringField(item, "call_id") ?? stringField(item, "id") ?? ""
  const called = (name: string, value: unknown): readonly TranscriptEntry[] => [
    {
      type: "assistant",
      reply: undefined,
      text: "",
      reasoning: "",
      at,
      calls: [{ id: call, name, arguments: argumentsText(value) }],
    },
  ]
  switch (item["type"]) {
    case "message": {
      const text = textOf(item["content"])
      if (text === "") return []
      if (item["role"] === "assistant")
        return [{ type: "assistant", reply: undefined, text, reasoning: "", calls: [], at }]
      return item["role"] === "user" && !OWN_TEXT.test(text) ? [{ type: "user", text, at }] : []
    }
    case "reasoning": {
      const reasoning = textOf(item["summary"])
      return reasoning === "" ? [] : [{ type: "assistant", reply: undefined, text: "", reasoning, calls: [], at }]
    }
    case "function_call":
      return called(stringField(item, "name") ?? "unknown", item["arguments"])
    case "custom_tool_call":
      return called(stringField(item, "name") ?? "unknown", { input: item["input"] })
    case "local_shell_call":
      return called("local_shell", item["action"])
    case "function_call_output":
    case "custom_tool_call_output":
      return [{ type: "result", call, text: outputText(item["output"]), at }]
    default:
      return []
  }
}

/** Text that the program sends in the name of the user: rules, environment, notes about aborted turns. */
const OWN_TEXT =
  /^\s*(?:<(?:environment_context|user_instructions|turn_aborted|permissions[ _]instructions|skills?_instructions|skill|user_shell_command|subagent_notification)[\s>]|# AGENTS\.md instructions)/u

function textOf(content: unknown): string {
  if (typeof content === "string") return content.trim()
  if (!Array.isArray(content)) return ""
  return content
    .flatMap((part) => (stringField(part, "type") === "input_image" ? IMAGE_NOTE : (stringField(part, "text") ?? [])))
    .join("\n\n")
    .trim()
}

/** A text, a list of parts, or an object with one of them; older versions put that object into a text. */
function outputText(output: unknown): string {
  if (isRecord(output)) return outputText(output["content"] ?? output["output"] ?? output["content_items"])
  if (typeof output !== "string") return textOf(output)
  const decoded = output.startsWith('{"output"') ? parseJson(output) : undefined
  return stringField(decoded, "output") ?? output
}
