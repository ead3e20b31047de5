import {
  acceptedContent,
  completable,
  fromJsonSchema,
  inputRequired,
  inputResponse,
  ResourceTemplate,
} from "@modelcontextprotocol/server"
import type {
  CallToolResult,
  ContentBlock,
  InputRequest,
  InputRequiredResult,
  McpServer,
  ServerContext,
} from "@modelcontextprotocol/server"
import { z } from "zod"

import type { ServedTool } from "../../../src/mcp/server/conversation-tools.ts"
import type { RoundStateCodec } from "../../../src/mcp/server/run-in-rounds.ts"
import { defineTool } from "../../../src/toolkit/define-tool.ts"
import type { ToolContext, ToolResult } from "../../../src/toolkit/tool.ts"

/** Tools that the suite calls and that use what tools of Hermes use: they are judged, audited and served like those. */
export function servedFixtures(): readonly ServedTool[] {
  const served = (
    name: string,
    description: string,
    run: (context: ToolContext) => Readonly<Record<string, unknown>>,
    confirm?: string,
  ): ServedTool => {
    const input = z.object({ message: z.string().optional() })
    const tool = defineTool({
      name,
      toolset: "mcp-serve",
      description,
      input,
      access: "read",
      parallel: "safe",
      subject: () => ({ kind: "name", name: "" }),
      preview: () => "",
      confirm: () => confirm,
      run: (_args, context): Promise<ToolResult> => Promise.resolve({ content: run(context), summary: name }),
    })
    return { tool, input }
  }
  return [
    served("test_simple_text", "Returns a text.", () => ({ result: "This is a simple text response for testing." })),
    served("test_error_handling", "Always fails.", () => {
      throw new Error("This tool intentionally returns an error for testing")
    }),
    served("test_tool_with_progress", "Reports progress three times.", (context) => {
      for (const line of ["begins", "continues", "ends"]) context.progress(line)
      return { result: "done" }
    }),
    // The question of this one is an approval request.
    served("test_elicitation", "Needs approval.", () => ({ result: "approved" }), "the test wants a question"),
  ]
}

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
const SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
const image = { type: "image" as const, data: PIXEL, mimeType: "image/png" }
const text = (value: string): ContentBlock => ({ type: "text", text: value })

/** What Hermes has no counterpart for. It is added to the server that `hermes mcp serve` creates for each client. */
export function registerFixtures(server: McpServer, codec: RoundStateCodec): void {
  registerContent(server)
  registerQuestions(server)
  registerRounds(server, codec)
  registerResources(server)
  registerPrompts(server)
}

type Handled = CallToolResult | InputRequiredResult

function tool(server: McpServer, name: string, run: (context: ServerContext) => Handled | Promise<Handled>): void {
  server.registerTool(name, { description: `Fixture ${name}.`, inputSchema: z.object({}) }, (_args, context) =>
    run(context),
  )
}

function registerContent(server: McpServer): void {
  tool(server, "test_image_content", () => ({ content: [image] }))
  tool(server, "test_audio_content", () => ({
    content: [{ type: "audio", data: SILENCE, mimeType: "audio/wav" }],
  }))
  tool(server, "test_embedded_resource", () => ({
    content: [{ type: "resource", resource: { uri: "test://embedded-resource", mimeType: "text/plain", text: "x" } }],
  }))
  const resource = { uri: "test://mixed-content-resource", mimeType: "application/json", text: "{}" }
  tool(server, "test_multiple_content_types", () => ({
    content: [text("Multiple content types test:"), image, { type: "resource", resource }],
  }))
  const logs = async ({ mcpReq }: ServerContext): Promise<CallToolResult> => {
    for (const line of ["started", "processing", "completed"]) await mcpReq.log("info", line)
    return { content: [text("logged")] }
  }
  tool(server, "test_tool_with_logging", logs)
  tool(server, "test_logging_tool", logs)
  server.registerTool(
    "json_schema_2020_12_tool",
    { description: "Has a schema with many keywords.", inputSchema: fromJsonSchema(SCHEMA_2020_12) },
    () => ({ content: [text("ok")] }),
  )
  server.registerTool(
    "test_custom_header",
    {
      description: "Has a parameter that clients repeat in a header.",
      inputSchema: fromJsonSchema({
        type: "object",
        properties: { region: REGION },
        required: ["region"],
      }),
    },
    () => ({ content: [text("ok")] }),
  )
}

const REGION = { type: "string" as const, "x-mcp-header": "Region" }

const SCHEMA_2020_12 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object" as const,
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
}

function registerQuestions(server: McpServer): void {
  server.registerTool(
    "test_sampling",
    { description: "Asks the model of the host.", inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }) => {
      const messages = [{ role: "user" as const, content: { type: "text" as const, text: prompt } }]
      const { content } = await mcpReq.requestSampling({ messages, maxTokens: 100 })
      return { content: [text(JSON.stringify(content))] }
    },
  )
  tool(server, "test_elicitation_sep1034_defaults", async ({ mcpReq }) => {
    const answer = await mcpReq.elicitInput({
      message: "Details",
      requestedSchema: {
        type: "object",
        properties: {
          name: { type: "string", default: "John Doe" },
          age: { type: "integer", default: 30 },
          score: { type: "number", default: 95.5 },
          status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
          verified: { type: "boolean", default: true },
        },
      },
    })
    return { content: [text(JSON.stringify(answer))] }
  })
  tool(server, "test_elicitation_sep1330_enums", async ({ mcpReq }) => {
    const options = ["option1", "option2", "option3"]
    const titled = [1, 2, 3].map((number) => ({ const: `value${number}`, title: `Option ${number}` }))
    const answer = await mcpReq.elicitInput({
      message: "Choices",
      requestedSchema: {
        type: "object",
        properties: {
          untitledSingle: { type: "string", enum: options },
          titledSingle: { type: "string", oneOf: titled },
          legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["One", "Two", "Three"] },
          untitledMulti: { type: "array", items: { type: "string", enum: options } },
          titledMulti: { type: "array", items: { anyOf: titled } },
        },
      },
    })
    return { content: [text(JSON.stringify(answer))] }
  })
}

const asksFor = (message: string, property: string, type: "string" | "boolean" = "string"): InputRequest =>
  inputRequired.elicit({
    message,
    requestedSchema: {
      type: "object",
      properties: { [property]: type === "string" ? { type } : { type } },
      required: [property],
    },
  })
const asksModel = (question: string): InputRequest =>
  inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text: question } }],
    maxTokens: 100,
  })
const answers = ({ mcpReq }: ServerContext, key: string): Record<string, unknown> | undefined =>
  acceptedContent(mcpReq.inputResponses, key)

/** Questions as results, which the protocol has since 2026-07-28. */
function registerRounds(server: McpServer, codec: RoundStateCodec): void {
  const done = (value: string): CallToolResult => ({ content: [text(value)] })
  tool(server, "test_input_required_result_elicitation", (context) => {
    const name = answers(context, "user_name")?.["name"]
    return typeof name === "string"
      ? done(`Hello, ${name}!`)
      : inputRequired({ inputRequests: { user_name: asksFor("What is your name?", "name") } })
  })
  tool(server, "test_streaming_elicitation", (context) =>
    answers(context, "name") === undefined
      ? inputRequired({ inputRequests: { name: asksFor("What is your name?", "name") } })
      : done("thanks"),
  )
  tool(server, "test_missing_capability", () => inputRequired({ inputRequests: { model: asksModel("Hello?") } }))
  tool(server, "test_input_required_result_sampling", ({ mcpReq }) =>
    inputResponse(mcpReq.inputResponses, "capital_question").kind === "sampling"
      ? done("answered")
      : inputRequired({ inputRequests: { capital_question: asksModel("What is the capital of France?") } }),
  )
  tool(server, "test_input_required_result_list_roots", ({ mcpReq }) => {
    const response = inputResponse(mcpReq.inputResponses, "client_roots")
    return response.kind === "roots"
      ? done(JSON.stringify(response.roots))
      : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } })
  })
  for (const name of ["test_input_required_result_request_state", "test_input_required_result_tampered_state"])
    tool(server, name, async (context) =>
      context.mcpReq.requestState() === undefined
        ? inputRequired({
            inputRequests: { confirm: asksFor("Please confirm", "ok", "boolean") },
            requestState: await codec.mint({ step: 1 }, context),
          })
        : done("state-ok"),
    )
  tool(server, "test_input_required_result_multiple_inputs", async (context) =>
    answers(context, "user_name") === undefined
      ? inputRequired({
          inputRequests: {
            user_name: asksFor("What is your name?", "name"),
            greeting: asksModel("Generate a greeting"),
            client_roots: inputRequired.listRoots(),
          },
          requestState: await codec.mint({ step: 1 }, context),
        })
      : done("all inputs"),
  )
  tool(server, "test_input_required_result_multi_round", async (context) => {
    if (answers(context, "step2") !== undefined) return done("two rounds")
    const isSecond = answers(context, "step1") !== undefined
    return inputRequired({
      inputRequests: isSecond
        ? { step2: asksFor("Your favourite colour?", "color") }
        : { step1: asksFor("Your name?", "name") },
      requestState: await codec.mint({ step: isSecond ? 2 : 1 }, context),
    })
  })
  tool(server, "test_input_required_result_capabilities", ({ mcpReq }) =>
    inputResponse(mcpReq.inputResponses, "model").kind === "sampling"
      ? done("answered")
      : inputRequired({ inputRequests: { model: asksModel("Hello?") } }),
  )
  server.registerPrompt("test_input_required_result_prompt", { description: "Asks for its context." }, (context) =>
    answers(context, "user_context") === undefined
      ? inputRequired({ inputRequests: { user_context: asksFor("Which context?", "context") } })
      : { messages: [{ role: "user", content: { type: "text", text: "with context" } }] },
  )
}

function registerResources(server: McpServer): void {
  server.registerResource(
    "text",
    "test://static-text",
    { description: "A text.", mimeType: "text/plain" },
    ({ href: uri }) => ({ contents: [{ uri, mimeType: "text/plain", text: "static" }] }),
  )
  server.registerResource(
    "binary",
    "test://static-binary",
    { description: "An image.", mimeType: "image/png" },
    ({ href: uri }) => ({ contents: [{ uri, mimeType: "image/png", blob: PIXEL }] }),
  )
  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    { description: "Data by id.", mimeType: "application/json" },
    ({ href: uri }, { id }) => ({ contents: [{ uri, mimeType: "application/json", text: JSON.stringify({ id }) }] }),
  )
}

function registerPrompts(server: McpServer): void {
  const says = (value: string) => ({ role: "user" as const, content: { type: "text" as const, text: value } })
  server.registerPrompt("test_simple_prompt", { description: "A text." }, () => ({ messages: [says("simple")] }))
  server.registerPrompt(
    "test_prompt_with_arguments",
    {
      description: "Two arguments.",
      argsSchema: z.object({ arg1: completable(z.string(), () => ["test value"]), arg2: z.string() }),
    },
    ({ arg1, arg2 }) => ({ messages: [says(`arg1='${arg1}', arg2='${arg2}'`)] }),
  )
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "A resource.", argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri: uri }) => ({
      messages: [
        { role: "user", content: { type: "resource", resource: { uri, mimeType: "text/plain", text: "embedded" } } },
        says("Please process the embedded resource above."),
      ],
    }),
  )
  server.registerPrompt("test_prompt_with_image", { description: "An image." }, () => ({
    messages: [{ role: "user", content: image }, says("Please analyze the image above.")],
  }))
}
