import { assertNever } from "../../base/assert-never.ts"
import { isRecord } from "../../base/json.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { ellipsize } from "../../base/text.ts"
import { visibleText } from "../../base/visible-text.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { acceptTool } from "../catalogue/pin-tools.ts"
import { descriptionThreat } from "../catalogue/scan-description.ts"
import type { StoredServer, StoredTool } from "../catalogue/stored-server.ts"
import { promptArguments } from "../prompt-commands.ts"
import type { PromptCommand } from "../prompt-commands.ts"
import type { McpServer } from "../mcp-servers.ts"
import type { EntryContext } from "../entry-context.ts"
import type { UtilityName } from "../utility-tools.ts"
import { textOfBlocks, toolResultOf } from "./call-result.ts"
import type { CallOptions, Connection } from "./connection.ts"

export interface McpCall {
  readonly server: McpServer
  readonly context: EntryContext
  readonly toolContext: ToolContext
}

/** Calls a tool of a server. Waits for the connection, and checks that the tool is still the one that was accepted. */
export async function runMcpTool(
  { name, tool }: { readonly name: string; readonly tool: string },
  args: Readonly<Record<string, unknown>>,
  call: McpCall,
): Promise<ToolResult> {
  const { server, context, toolContext } = call
  const connection = await server.connection()
  const ready = await connection.ready(toolContext.signal)
  if (ready.ok) {
    const refusal = await refusalOf(tool, call)
    if (refusal !== undefined) return failure(refusal)
  }
  // Without a connection the call itself reports why.
  const answer = await connection.callTool(tool, args, callOptions(call))
  if (!answer.ok) return failure(answer.error)
  return toolResultOf(answer.value, { tool: name, mediaDirectory: context.mediaDirectory, redact: toolContext.redact })
}

export async function runUtility(
  utility: UtilityName,
  args: Readonly<Record<string, unknown>>,
  call: McpCall,
): Promise<ToolResult> {
  const connection = await call.server.connection()
  const result = await useUtility(utility, args, connection, call)
  if (!result.ok) return failure(result.error)
  return { content: result.value.content, summary: result.value.summary }
}

async function useUtility(
  utility: UtilityName,
  args: Readonly<Record<string, unknown>>,
  connection: Connection,
  call: McpCall,
): Promise<Result<ToolResult>> {
  const how = callOptions(call)
  const { context, toolContext, server } = call
  const text = { tool: utility, mediaDirectory: context.mediaDirectory, redact: toolContext.redact }
  switch (utility) {
    case "list_resources": {
      const listed = await connection.listResources(how)
      if (!listed.ok) return listed
      return found({ resources: listed.value }, `${listed.value.length} resources`)
    }
    case "read_resource": {
      const uri = String(args["uri"])
      const read = await connection.readResource(uri, how)
      return read.ok ? found({ result: textOfBlocks(read.value, text) }, uri) : read
    }
    case "list_prompts": {
      const prompts = server.stored()?.prompts ?? []
      return found({ prompts }, `${prompts.length} prompts`)
    }
    case "get_prompt": {
      const name = String(args["name"])
      const prompt = await connection.getPrompt(name, textArguments(args["arguments"]), how)
      if (!prompt.ok) return prompt
      const messages = prompt.value.messages.map(({ role, content }) => ({ role, text: textOfBlocks([content], text) }))
      return found({ messages }, name)
    }
    default:
      return assertNever(utility)
  }
}

/** The text of a prompt, for the next message of the user. */
export async function fillPrompt(
  { server, prompt }: PromptCommand,
  argument: string,
  { scope, mediaDirectory, signal }: EntryContext & { readonly signal: AbortSignal },
): Promise<Result<string>> {
  const values = promptArguments(prompt, argument)
  const missing = prompt.arguments.filter(({ name, required }) => required && values[name] === undefined)
  if (missing.length > 0) return fail(`The prompt needs ${missing.map(({ name }) => name).join(", ")}.`)
  const connection = await server.connection()
  const filled = await connection.getPrompt(prompt.name, values, { scope, signal })
  if (!filled.ok) return filled
  const text = { tool: prompt.name, mediaDirectory, redact: (given: string) => given }
  const message = filled.value.messages.map(({ content }) => textOfBlocks([content], text)).join("\n\n")
  // It becomes the user's own message, without the label of text from outside.
  const threat = descriptionThreat({ prompt: message })
  return threat === undefined
    ? ok(message)
    : fail(`The prompt was not sent: it looks like an attack on the model: ${threat}`)
}

function found(content: Readonly<Record<string, unknown>>, summary: string): Result<ToolResult> {
  return ok({ content, summary })
}

function textArguments(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {}
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, typeof item === "string" ? item : JSON.stringify(item)]),
  )
}

function callOptions({ context, toolContext }: McpCall): CallOptions {
  const { signal } = toolContext
  const askPort = toolContext.ports.ask
  return {
    signal,
    scope: { ...context.scope, ...(askPort === undefined ? {} : { ask: (question) => askPort.ask(question) }) },
    onProgress: (text) => {
      toolContext.progress(text)
    },
  }
}

const ACCEPT = "Accept the new description"
const REFUSE = "Refuse"
const MAX_SHOWN_CHARS = 1500

/** Why a tool must not be called now. A user who is present may accept a change on the spot, but not what looks like an attack. */
async function refusalOf(tool: string, { server, toolContext }: McpCall): Promise<string | undefined> {
  const { name } = server.settings
  const find = (known: StoredServer | undefined): StoredTool | undefined =>
    known?.tools.find((one) => one.name === tool)
  const first = find(server.stored())
  const stored = first?.waiting === undefined ? first : find(server.reread())
  if (stored === undefined || stored.gone === true) return `The MCP server ${name} no longer has the tool ${tool}.`
  if (stored.waiting === undefined) return undefined
  const refusal = `${tool} of the MCP server ${name} is quarantined: ${stored.reason ?? "its description changed"}. The user can look at it and accept it with: hermes mcp accept ${name}${stored.blocked === true ? ` ${tool}` : ""}`
  const { ask } = toolContext.ports
  if (ask === undefined || stored.blocked === true) return refusal
  const outcome = await ask.ask({
    kind: "question",
    asker: "hermes",
    question: changeQuestion(name, stored),
    choices: [ACCEPT, REFUSE],
    allowFreetext: false,
  })
  if (outcome.kind !== "answer" || outcome.text !== ACCEPT) return refusal
  const current = server.stored()
  if (current === undefined) return refusal
  const tools = current.tools.map((known) => (known.name === tool ? acceptTool(known) : known))
  server.replaceStored({ ...current, tools })
  return undefined
}

function changeQuestion(server: string, { name, accepted, waiting, reason }: StoredTool): string {
  const shown = (text: string | undefined): string => ellipsize(visibleText(text ?? "").text, MAX_SHOWN_CHARS)
  return [
    `${name} of the MCP server ${server}: ${reason ?? "its description changed"}.`,
    `Before: ${shown(accepted?.description)}`,
    `Now: ${shown(waiting?.description)}`,
    "Use it with the new description?",
  ].join("\n")
}

function failure(error: string): ToolResult {
  return { content: { error }, summary: ellipsize(error, 200) }
}
