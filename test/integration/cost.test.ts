import { describe, expect, test, vi } from "vitest"

import { NO_USAGE, addUsage } from "../../src/protocol/usage.ts"
import type { Usage } from "../../src/protocol/usage.ts"
import type { FacetFactory } from "../../src/app/session/facet-context.ts"
import { startForwardProxy } from "../support/forward-proxy.ts"
import type { ScriptEntry } from "../support/model-server/turn.ts"
import { callsTool, repeat, reply, says } from "../support/model-server/turn.ts"
import { talk } from "../fixtures/agent/histories.ts"
import { seedSession } from "./agent/seeded-session.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"
import type { AssembledApp, RunRecord } from "./assembled-app.ts"

/** A model at a public host, because models on loopback have no price. The test's proxy forwards the host to the scripted server. */
interface PricedModel {
  readonly provider: string
  readonly path: string
  readonly model: string
  readonly wire: string
  readonly settings?: string
}

const MODELS = {
  anthropic: { provider: "anthropic", path: "", model: "claude-sonnet-4-6", wire: "anthropic_messages" },
  openai: { provider: "openai-api", path: "/v1", model: "gpt-4.1", wire: "chat_completions" },
  responses: { provider: "openai-api", path: "/v1", model: "gpt-4.1", wire: "codex_responses" },
  gemini: { provider: "gemini", path: "/v1beta", model: "gemini-2.5-pro", wire: "gemini_native" },
  bedrock: { provider: "bedrock", path: "", model: "anthropic.claude-sonnet-4-6", wire: "bedrock_converse" },
  unpriced: { provider: "acme", path: "/v1", model: "unlisted-model", wire: "chat_completions" },
} satisfies Record<string, PricedModel>

async function meteredApp(
  script: readonly ScriptEntry[],
  priced: PricedModel,
  facets: readonly FacetFactory[] = [],
): Promise<{ readonly assembled: AssembledApp; readonly close: () => Promise<void> }> {
  const proxy = await startForwardProxy()
  const baseUrl = `http://api.example.com${priced.path}`
  const acme = `providers:\n  acme:\n    base_url: ${baseUrl}\n    api_mode: ${priced.wire}\n`
  const model = [
    `model:\n  provider: ${priced.provider}\n  base_url: ${baseUrl}\n  default: ${priced.model}`,
    `  api_mode: ${priced.wire}\n  api_key: test-key-0123456789\n${priced.settings ?? ""}`,
  ].join("\n")
  const assembled = await assembleApp(script, {
    facets,
    files: { "config.yaml": `${model}${priced.provider === "acme" ? acme : ""}` },
    env: {
      HTTP_PROXY: proxy.url,
      AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
      AWS_SECRET_ACCESS_KEY: "secret-of-the-test",
    },
  })
  proxy.forwardTo(assembled.model.url)
  return {
    assembled,
    close: async () => {
      await assembled[Symbol.asyncDispose]()
      await proxy[Symbol.asyncDispose]()
    },
  }
}

interface Ledger {
  readonly events: readonly (readonly [Usage, number | undefined])[]
  readonly runs: readonly { readonly usage: Usage; readonly usd: number | null; readonly status: string }[]
  readonly row: {
    readonly usage: Usage
    readonly usd: number | null
    readonly status: string | null
    readonly source: string | null
    readonly version: string | null
    readonly provider: string | null
    readonly mode: string | null
    readonly calls: number
  }
}

/** Collects the usage and cost from the three records: events, run results and the session row. */
async function ledgerOf(
  script: readonly ScriptEntry[],
  priced: PricedModel,
  prompts: readonly string[],
): Promise<Ledger> {
  const { assembled, close } = await meteredApp(script, priced)
  try {
    const session = await assembled.open()
    const runs: RunRecord[] = []
    for (const prompt of prompts) runs.push(await runToEnd(session, prompt))
    const row = await (await assembled.app.store()).session(session.id)
    expect(assembled.model.unanswered).toEqual([])
    return {
      events: runs.flatMap(({ events }) =>
        events.flatMap((event) => (event.type === "usage" ? [[event.usage, event.costUsd] as const] : [])),
      ),
      runs: runs.map(({ end: { result } }) => ({
        usage: result.usage,
        usd: nano(result.costUsd),
        status: result.costStatus,
      })),
      row: {
        usage: row!.usage,
        usd: nano(row!.estimatedCostUsd),
        status: row!.costStatus,
        source: row!.costSource,
        version: row!.pricingVersion,
        provider: row!.billingProvider,
        mode: row!.billingMode,
        calls: row!.apiCallCount,
      },
    }
  } finally {
    await close()
  }
}

/** Rounds dollars to nine decimals, so that sums of floating-point numbers compare exactly. */
function nano(usd: number | null): number | null {
  return usd === null ? null : Math.round(usd * 1e9) / 1e9
}

const FIRST: Usage = { input: 100_003, output: 20_001, cacheRead: 0, cacheWrite: 0, reasoning: 0 }
const SECOND: Usage = { input: 7, output: 301, cacheRead: 310_000, cacheWrite: 0, reasoning: 0 }
const THIRD: Usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 }

/** A tool call, the reply after it, and a second turn, each with its own usage. */
function script(usages: readonly [Usage, Usage, Usage]): readonly ScriptEntry[] {
  return [
    reply({ calls: [{ name: "terminal", input: { command: "true" } }], usage: usages[0] }),
    says("Done.", { usage: usages[1] }),
    says("Again.", { usage: usages[2] }),
  ]
}

/** Prices in USD per million tokens: input, output, cache read, cache write. */
const CASES: readonly {
  readonly name: string
  readonly priced: PricedModel
  readonly usages: readonly [Usage, Usage, Usage]
  readonly prices: readonly [number, number, number, number]
}[] = [
  {
    name: "Anthropic Messages, cache reads and writes",
    priced: MODELS.anthropic,
    usages: [{ ...FIRST, cacheWrite: 41_237 }, { ...SECOND, cacheWrite: 19 }, THIRD],
    prices: [3, 15, 0.3, 3.75],
  },
  {
    name: "Anthropic Messages, one-hour cache",
    priced: { ...MODELS.anthropic, settings: "prompt_caching:\n  cache_ttl: 1h\n" },
    usages: [{ ...FIRST, cacheWrite: 41_237 }, { ...SECOND, cacheWrite: 19 }, THIRD],
    prices: [3, 15, 0.3, 6],
  },
  {
    name: "Chat Completions, cache reads",
    priced: MODELS.openai,
    usages: [{ ...FIRST, reasoning: 5 }, SECOND, THIRD],
    prices: [2, 8, 0.5, 0],
  },
  {
    name: "Responses, cache reads and reasoning",
    priced: MODELS.responses,
    usages: [{ ...FIRST, reasoning: 19_000 }, SECOND, THIRD],
    prices: [2, 8, 0.5, 0],
  },
  {
    name: "Gemini",
    priced: MODELS.gemini,
    usages: [{ ...FIRST, reasoning: 19_000 }, { ...THIRD, output: 301 }, THIRD],
    prices: [1.25, 10, 0, 0],
  },
]

describe("usage and cost are recorded as the streams report them", () => {
  test.each(CASES)("$name", async ({ priced, usages, prices }) => {
    const usd = ({ input, output, cacheRead, cacheWrite }: Usage): number =>
      nano((input * prices[0] + output * prices[1] + cacheRead * prices[2] + cacheWrite * prices[3]) / 1e6) ?? 0
    const [first, second, third] = usages
    const ledger = await ledgerOf(script(usages), priced, ["Work.", "Again."])
    const { source, version, ...row } = ledger.row
    expect({ events: ledger.events, runs: ledger.runs, row }).toEqual({
      events: usages.map((usage) => [usage, usd(usage)]),
      runs: [
        { usage: addUsage(first, second), usd: nano(usd(first) + usd(second)), status: "estimated" },
        { usage: third, usd: usd(third), status: "estimated" },
      ],
      row: {
        usage: addUsage(addUsage(first, second), third),
        usd: nano(usd(first) + usd(second) + usd(third)),
        status: "estimated",
        provider: priced.provider,
        mode: "metered",
        calls: 3,
      },
    })
    expect([source, version]).toEqual([expect.stringMatching(/^(?:table|catalog)$/), expect.stringMatching(/./)])
  })

  test("Bedrock, cache reads and writes", async () => {
    const usage: Usage = { input: 1000, output: 200, cacheRead: 30_000, cacheWrite: 4000, reasoning: 0 }
    const { events, row } = await ledgerOf([says("Hello.", { usage })], MODELS.bedrock, ["Hi."])
    expect({ events: events.map(([counted]) => counted), row: row.usage }).toEqual({ events: [usage], row: usage })
  })

  test("the cost of an unusable reply counts", async () => {
    const usage: Usage = { input: 1000, output: 100, cacheRead: 0, cacheWrite: 0, reasoning: 0 }
    const { runs, row } = await ledgerOf([says("", { usage }), says("Here I am.", { usage })], MODELS.openai, ["Hi."])
    const both = { usage: addUsage(usage, usage), usd: 0.0056, status: "estimated" }
    expect({ runs, row: { usage: row.usage, usd: row.usd, status: row.status, calls: row.calls } }).toEqual({
      runs: [both],
      row: { ...both, calls: 2 },
    })
  })

  test("the cost of a refused request counts", async () => {
    const usage: Usage = { input: 1000, output: 100, cacheRead: 0, cacheWrite: 0, reasoning: 0 }
    const { runs, row } = await ledgerOf([reply({ text: "No.", finish: "content_filter", usage })], MODELS.openai, [
      "Hi.",
    ])
    expect([runs, row.usage, row.usd, row.calls]).toEqual([
      [{ usage, usd: 0.0028, status: "estimated" }],
      usage,
      0.0028,
      1,
    ])
  })
})

describe("an unknown price is recorded as unknown", () => {
  const usage: Usage = { input: 1000, output: 100, cacheRead: 50, cacheWrite: 0, reasoning: 0 }

  test("for a model that is in no price list", async () => {
    const ledger = await ledgerOf([says("Hello.", { usage })], MODELS.unpriced, ["Hi."])
    expect(ledger).toEqual({
      events: [[usage, undefined]],
      runs: [{ usage, usd: null, status: "unknown" }],
      row: {
        usage,
        usd: null,
        status: "unknown",
        source: "none",
        version: null,
        provider: "acme",
        mode: "metered",
        calls: 1,
      },
    })
  })

  test("for one kind of token, and a later known price does not hide it", async () => {
    const writes: Usage = { ...usage, cacheWrite: 7 }
    const { runs, row } = await ledgerOf(
      [says("Hello.", { usage: writes }), says("Again.", { usage })],
      MODELS.openai,
      ["Hi.", "And?"],
    )
    const known = nano((1000 * 2 + 100 * 8 + 50 * 0.5) / 1e6)
    expect({ runs, row: { usd: row.usd, status: row.status } }).toEqual({
      runs: [
        { usage: writes, usd: null, status: "unknown" },
        { usage, usd: known, status: "estimated" },
      ],
      row: { usd: known, status: "unknown" },
    })
  })

  test("for a call without reported usage", async () => {
    const { runs, row } = await ledgerOf([says("Hello.", { usage: null })], MODELS.openai, ["Hi."])
    expect([runs.map(({ usd, status }) => [usd, status]), row.usd, row.status]).toEqual([
      [[null, "unknown"]],
      null,
      "unknown",
    ])
  })

  test("a local server costs nothing", async () => {
    await using assembled = await assembleApp([says("Hello.", { usage })])
    const session = await assembled.open()
    const { end } = await runToEnd(session, "Hi.")
    const row = await (await assembled.app.store()).session(session.id)
    expect([end.result.costUsd, end.result.costStatus, row?.costStatus, row?.billingMode]).toEqual([
      0,
      "included",
      "included",
      "local",
    ])
  })
})

describe("model.max_session_cost_usd", () => {
  const CALL: Usage = { input: 10_000, output: 1000, cacheRead: 0, cacheWrite: 0, reasoning: 0 }
  // 2 USD and 8 USD per million tokens: 0.028 for a call, and at least 0.022 to read all of it again.
  const limited = (usd: number): PricedModel => ({ ...MODELS.openai, settings: `  max_session_cost_usd: ${usd}\n` })

  test.each([
    ["session", "Requested after approval."],
    ["deny", null],
  ] as const)("at the limit, the answer %s decides whether the run continues", async (choice, finalResponse) => {
    const { assembled, close } = await meteredApp(
      [
        { ...callsTool("terminal", { command: "true" }), usage: CALL },
        says("Requested after approval.", { usage: CALL }),
      ],
      limited(0.049),
    )
    try {
      const session = await assembled.open()
      const { end } = await runToEnd(session, "Work.", (event) => {
        if (event.type === "approval-request") session.answer(event.requestId, { kind: "approval", choice })
      })
      expect([end.result.finalResponse, end.result.error?.code]).toEqual([
        finalResponse,
        finalResponse === null ? "cost_limit" : undefined,
      ])
    } finally {
      await close()
    }
  })

  test("stops before the call that would exceed the limit", async () => {
    const { assembled, close } = await meteredApp(
      [
        { ...callsTool("terminal", { command: "echo kept > made.txt" }), usage: CALL },
        says("Never requested.", { usage: CALL }),
      ],
      limited(0.049),
    )
    try {
      const session = await assembled.open({ attended: false })
      const { end } = await runToEnd(session, "Work.")
      expect({
        outcome: end.outcome,
        exitReason: end.result.exitReason,
        error: end.result.error,
        requests: assembled.model.requests.length,
        tools: end.result.toolCalls,
      }).toEqual({
        outcome: "error",
        exitReason: "cost_limit",
        error: {
          code: "cost_limit",
          reason: "cost_limit",
          message: expect.stringContaining("model.max_session_cost_usd") as string,
          retryable: false,
        },
        requests: 1,
        tools: 1,
      })
    } finally {
      await close()
    }
  })

  test("allows a call that stays below the limit", async () => {
    const { runs } = await ledgerOf(
      [{ ...callsTool("terminal", { command: "true" }), usage: CALL }, says("Done.", { usage: CALL })],
      limited(0.051),
      ["Work."],
    )
    expect(runs).toEqual([{ usage: addUsage(CALL, CALL), usd: 0.056, status: "estimated" }])
  })

  test("also stops before the first call of a turn", async () => {
    const { assembled, close } = await meteredApp([says("Hello.", { usage: CALL }), says("Never.")], limited(0.049))
    try {
      const session = await assembled.open({ attended: false })
      const ends = [(await runToEnd(session, "Hi.")).end, (await runToEnd(session, "More.")).end]
      expect(ends.map(({ result }) => result.error?.code)).toEqual([undefined, "cost_limit"])
      expect(assembled.model.requests).toHaveLength(1)
    } finally {
      await close()
    }
  })

  test("includes the cost of the session before a restart", async () => {
    const { assembled, close } = await meteredApp([says("Hello.", { usage: CALL }), says("Never.")], limited(0.028))
    try {
      const session = await assembled.open({ attended: false })
      expect((await runToEnd(session, "Hi.")).end.outcome).toBe("completed")
      const later = await assembled.restart()
      const resumed = await later.open({ attended: false, resume: session.id })
      const { end } = await runToEnd(resumed, "More.")
      await resumed.close("test_end")
      await later.app.close()
      expect([end.result.error?.code, assembled.model.requests.length]).toEqual(["cost_limit", 1])
    } finally {
      await close()
    }
  })
})

describe("auxiliary calls", () => {
  const CALL: Usage = { input: 10_000, output: 1000, cacheRead: 0, cacheWrite: 0, reasoning: 0 }
  /** Ten times as long as a request of the conversation: 0.2 USD. */
  const LONG: Usage = { ...NO_USAGE, input: 100_000 }
  const limited = (usd: number): PricedModel => ({ ...MODELS.openai, settings: `  max_session_cost_usd: ${usd}\n` })

  /** Makes an auxiliary call before each turn, as a summary or an image description does. */
  const callsAuxiliary: FacetFactory = ({ auxiliary }) => ({
    name: "auxiliary-call",
    beforeTurn: async ({ signal }) => {
      await auxiliary.call({ task: "compression", system: "", messages: [{ role: "user", content: "x" }], signal })
      return undefined
    },
  })

  test("count in the cost of the run, and the events add up to it", async () => {
    const { assembled, close } = await meteredApp(
      [says("A summary.", { usage: LONG }), says("Hello.", { usage: CALL })],
      MODELS.openai,
      [callsAuxiliary],
    )
    try {
      const session = await assembled.open()
      const { events, end } = await runToEnd(session, "Hi.")
      const costs = events.flatMap((event) => (event.type === "usage" ? [[event.task, event.costUsd]] : []))
      const row = await (await assembled.app.store()).session(session.id)
      expect([costs, end.result.costUsd, end.result.costStatus, row?.estimatedCostUsd]).toEqual([
        [
          ["compression", 0.2],
          [undefined, 0.028],
        ],
        0.228,
        "estimated",
        0.228,
      ])
    } finally {
      await close()
    }
  })

  test("of which one has no known price make the cost of the run unknown", async () => {
    const { assembled, close } = await meteredApp(
      [says("A summary.", { usage: null }), says("Hello.", { usage: CALL })],
      MODELS.openai,
      [callsAuxiliary],
    )
    try {
      const { end } = await runToEnd(await assembled.open(), "Hi.")
      expect([end.result.costUsd, end.result.costStatus]).toEqual([null, "unknown"])
    } finally {
      await close()
    }
  })

  test("after a run count in the next one", async () => {
    const { assembled, close } = await meteredApp(
      [says("Hello.", { usage: CALL }), says("A title", { usage: LONG }), says("Again.", { usage: CALL })],
      MODELS.openai,
    )
    try {
      const session = await assembled.open({ generateTitle: true })
      const first = await runToEnd(session, "Hi.")
      await vi.waitUntil(async () => (await session.title()) === "A title", { timeout: 10_000 })
      const second = await runToEnd(session, "And?")
      expect([first, second].map(({ end }) => end.result.costUsd)).toEqual([0.028, 0.228])
    } finally {
      await close()
    }
  })

  test.each([
    [0.49, "completed", 4],
    // 0.2 + 0.028 + 0.2 is spent, and reading the conversation again costs at least 0.022.
    [0.449, "error", 3],
  ])("count towards a limit of %d USD, but not as the size of the next request", async (usd, outcome, requests) => {
    const { assembled, close } = await meteredApp(
      [
        says("A summary.", { usage: LONG }),
        says("Hello.", { usage: CALL }),
        says("A summary.", { usage: LONG }),
        says("Again.", { usage: CALL }),
      ],
      limited(usd),
      [callsAuxiliary],
    )
    try {
      const session = await assembled.open({ attended: false })
      const ends = [(await runToEnd(session, "Hi.")).end, (await runToEnd(session, "More.")).end]
      expect([ends.map((end) => end.outcome), assembled.model.requests.length]).toEqual([
        ["completed", outcome],
        requests,
      ])
    } finally {
      await close()
    }
  })

  test("before a compression count towards the limit of the resumed conversation", async () => {
    const script = repeat(({ rawBody }) =>
      rawBody.includes("You write context checkpoints")
        ? says("## Active Task\nNone.", { usage: LONG })
        : says("Hello.", { usage: CALL }),
    )
    const settings = "  context_length: 16000\n  max_session_cost_usd: 0.24\ncompression:\n  strategy: summarize\n"
    const { assembled, close } = await meteredApp([script], { ...MODELS.openai, settings })
    try {
      const session = await assembled.open({
        attended: false,
        resume: await seedSession(assembled, talk(60, 1500)),
      })
      expect((await runToEnd(session, "Hi.")).end.outcome).toBe("completed")
      const later = await assembled.restart()
      const resumed = await later.open({ attended: false, resume: session.id })
      const { end } = await runToEnd(resumed, "More.")
      await resumed.close("test_end")
      await later.app.close()
      expect(end.result.error?.message).toContain("this session has cost $0.2280")
    } finally {
      await close()
    }
  })
})
