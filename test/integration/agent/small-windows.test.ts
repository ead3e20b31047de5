import { describe, expect, test } from "vitest"

import type { Part } from "../../../src/protocol/message.ts"
import { startModelServer } from "../../support/model-server/server.ts"
import type { ModelServerOptions } from "../../support/model-server/server.ts"
import { callsTool, reply, repeat, says, status } from "../../support/model-server/turn.ts"
import type { ScriptEntry } from "../../support/model-server/turn.ts"
import { dataUrl, testImage } from "../../support/test-image.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { RunRecord } from "../assembled-app.ts"

function statuses({ events }: RunRecord, kind: string): readonly string[] {
  return events.flatMap((event) => (event.type === "status" && event.kind === kind ? [event.text] : []))
}

describe("a server that reports usage", () => {
  const WINDOW = 40_000
  const FILES = Object.fromEntries(
    Array.from({ length: 12 }, (_file, index) => [
      `${index}.txt`,
      `${index}: ${`${"a line of words ".repeat(4)}\n`.repeat(200)}`,
    ]),
  )
  /** Reads one file after the other; the server reports this share of the real size. */
  const reads = (share: number): readonly ScriptEntry[] => [
    ...Object.keys(FILES).map(
      (path): ScriptEntry =>
        ({ rawBody }) =>
          reply({
            calls: [{ name: "read_file", input: { path } }],
            usage: { input: Math.ceil((rawBody.length / 4) * share) },
          }),
    ),
    repeat(says("Done.")),
  ]

  test.each([
    [0.001, true],
    [0.3, true],
    [0.6, false],
  ])("%d of the real size: the conversation is compressed before the window is full: %s", async (share, compressed) => {
    await using assembled = await assembleApp(reads(share), {
      config: `  context_length: ${WINDOW}\n`,
      workFiles: FILES,
    })
    const record = await runToEnd(await assembled.open(), "read all of them")
    expect(record.end).toMatchObject({ outcome: "completed", result: { finalResponse: "Done." } })
    const sizes = assembled.model.requests.map(({ rawBody }) => rawBody.length / 4)
    expect([statuses(record, "compress").length > 0, Math.max(...sizes) < WINDOW]).toEqual([compressed, compressed])
  })

  test("images that are smaller than assumed do not make the count implausible", async () => {
    const image: Part = {
      type: "image_url",
      image_url: { url: dataUrl(testImage({ width: 8, height: 8, type: "png" }), "image/png") },
    }
    const counted = { input: 6000 }
    await using assembled = await assembleApp(
      [{ ...callsTool("todo", {}), usage: counted }, { ...callsTool("todo", {}), usage: counted }, says("Done.")],
      { config: "  context_length: 32000\n" },
    )
    const record = await runToEnd(
      await assembled.open(),
      Array.from({ length: 15 }, () => image),
    )
    expect([record.end.outcome, statuses(record, "compress")]).toEqual(["completed", []])
  })
})

describe("one message that is far larger than the window", () => {
  const HUGE = "many words ".repeat(8000)

  test("is not sent; the error says what to do, and the session can continue", async () => {
    await using assembled = await assembleApp([says("Hello.")], { config: "  context_length: 8192\n" })
    const session = await assembled.open()
    const { end } = await runToEnd(session, HUGE)
    expect(end).toMatchObject({
      outcome: "error",
      result: {
        exitReason: "message_too_large",
        apiCalls: 0,
        error: {
          code: "message_too_large",
          reason: "context_overflow",
          message: expect.stringMatching(
            /^one message has about 22\S* tokens, but the context window of test-model has 8\S*, so it was not sent and not kept\. Put the text into a file/,
          ) as string,
        },
      },
    })
    expect(assembled.model.requests).toEqual([])
    const store = await assembled.app.store()
    expect([session.isStored, await store.list()]).toEqual([false, []])
    // It is not in the way of the next message.
    expect((await runToEnd(session, "hello")).end.result.finalResponse).toBe("Hello.")
    expect((await store.list()).map(({ id, title }) => [id, title])).toEqual([[session.id, "hello"]])
  })

  test("is sent when the window is only a guess", async () => {
    await using assembled = await assembleApp([repeat(says("Hello."))])
    expect((await runToEnd(await assembled.open(), HUGE)).end.result.finalResponse).toBe("Hello.")
  })
})

describe("Ollama with a small window", () => {
  const ENFORCED = "agent:\n  enforce_min_context: true\n"

  function ollama(facts: { readonly parameters?: string; readonly running?: number }): ModelServerOptions {
    const models = facts.running === undefined ? [] : [{ model: "qwen3:latest", context_length: facts.running }]
    return {
      routes: {
        "POST /api/show": status(200, { parameters: facts.parameters ?? "", model_info: {} }),
        "GET /api/ps": status(200, { models }),
      },
    }
  }

  test.each<[string, ModelServerOptions, string, readonly [string, string]]>([
    ["the file of the model says", ollama({ parameters: "num_ctx 4096" }), ENFORCED, ["error", SMALL]],
    ["it was loaded with", ollama({ running: 8192 }), ENFORCED, ["error", SMALL]],
    ["large enough", ollama({ parameters: "num_ctx 65536" }), ENFORCED, ["completed", ""]],
    ["not known yet", ollama({}), ENFORCED, ["completed", ""]],
    ["another server", {}, ENFORCED, ["completed", ""]],
    ["not enforced", ollama({ parameters: "num_ctx 4096" }), "", ["completed", ""]],
  ])("%s", async (_name, options, settings, [outcome, code]) => {
    await using server = await startModelServer([repeat(says("Hello."))], options)
    const config = `model:\n  base_url: ${server.url}/v1\n  default: qwen3\n  context_length: 131072\n${settings}`
    await using assembled = await assembleApp([], { files: { "config.yaml": config } })
    const { end } = await runToEnd(await assembled.open(), "hello")
    expect([end.outcome, end.result.error?.code ?? ""]).toEqual([outcome, code])
    expect(server.requests).toHaveLength(outcome === "error" ? 0 : 1)
    // Without enforcement no window is looked up before the first request, and afterwards only on Ollama.
    if (settings === "") expect(server.probes).toEqual([])
  })
})

const SMALL = "ollama_runtime_context_too_small"
