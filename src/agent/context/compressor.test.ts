import { describe, expect, test } from "vitest"

import {
  assistant,
  createEngineHarness,
  talk,
  toolRound,
  toolRounds,
  user,
} from "../../../test/fixtures/agent/histories.ts"
import type { EngineHarness } from "../../../test/fixtures/agent/histories.ts"
import { parseJson } from "../../base/json.ts"
import { contentText } from "../../protocol/message.ts"
import type { Message } from "../../protocol/message.ts"
import type { CompressOutcome, CompressOptions } from "./context-engine.ts"
import { createEstimator } from "./token-estimate.ts"
import { userText } from "./elision-note.ts"
import { isValidHistory } from "./history-validity.ts"

/** Overhead that leaves exactly `room` tokens for messages in a window of 200,000 (target 80,000). */
const overheadFor = (room: number): number => 80_000 - room
const sizeOf = (messages: readonly Message[]): number => createEstimator().messages(messages)

async function run(
  harness: EngineHarness,
  messages: readonly Message[],
  more: Partial<CompressOptions> = {},
): Promise<CompressOutcome> {
  return await harness.engine.compress(messages, { ...harness.request, ...more })
}

function notesIn(messages: readonly Message[]): readonly string[] {
  return messages.map(({ content }) => contentText(content)).filter((text) => text.startsWith("[LEFT OUT"))
}

describe("the five layers", () => {
  test("1: one large result is shortened and moved to a file, and nothing else changes", async () => {
    const harness = createEngineHarness()
    const before = [
      user("go"),
      ...toolRounds(5, 100),
      ...toolRound([{ id: "big", result: "line\n".repeat(12_000) }]),
      ...toolRounds(15, 100, "d"),
    ]
    const outcome = await run(harness, before, { overheadTokens: overheadFor(15_000) })
    expect([outcome.layersRun, outcome.removedMessages, outcome.droppedRounds, harness.summaryRequests.length]).toEqual(
      [[1], false, 0, 0],
    )
    expect(harness.spilled).toEqual([{ text: "line\n".repeat(12_000), callId: "big" }])
    const cut = outcome.messages.find((message) => message.role === "tool" && message.tool_call_id === "big")!
    expect(contentText(cut.content)).toContain("of 60000 characters kept. All of it is in /tmp/hermes-results/big.txt;")
    expect([...outcome.reshaped]).toEqual([
      [cut, before.find((message) => message.role === "tool" && message.tool_call_id === "big")],
    ])
    // All others are the same objects, so their cached encoding stays valid.
    expect(outcome.messages.filter((message) => message !== cut)).toEqual(
      before.filter((_, index) => outcome.messages[index] !== cut),
    )
    expect(outcome.messages.filter((message, index) => message !== before[index])).toEqual([cut])
  })

  test("2: a result that is part of a plan is not shortened", async () => {
    const harness = createEngineHarness({ settings: { hardTruncateMaxLoss: 0 } })
    const plan = toolRound([{ id: "big", result: "x".repeat(60_000) }], { tool: { compression_priority: "high" } })
    const outcome = await run(harness, [user("go"), ...toolRounds(15, 4000), ...plan, ...toolRounds(15, 100, "d")], {
      overheadTokens: overheadFor(25_000),
    })
    expect(outcome.layersRun).not.toEqual([])
    expect(outcome.messages).toEqual(expect.arrayContaining([...plan]))
    const normal = createEngineHarness({ settings: { planPriority: "normal" } })
    const cut = await run(normal, [user("go"), ...plan, ...toolRounds(15, 100, "d")], {
      overheadTokens: overheadFor(14_000),
    })
    expect(cut.layersRun).toEqual([1])
  })

  test("3: of 120 short rounds, the oldest that are older than 50 rounds are removed until the rest fits", async () => {
    const harness = createEngineHarness()
    const before = [user("go"), ...toolRounds(120, 150)]
    const outcome = await run(harness, before, { overheadTokens: overheadFor(6000) })
    expect([outcome.layersRun, outcome.removedMessages, outcome.droppedRounds, harness.summaryRequests]).toEqual([
      [2],
      true,
      41,
      [],
    ])
    expect(outcome.messages.slice(0, 3)).toEqual(before.slice(0, 3))
    expect(outcome.messages.slice(4)).toEqual(before.slice(3 + 2 * 41))
    const [note] = notesIn(outcome.messages)
    expect(outcome.messages[3]).toEqual({ role: "user", content: note, synthetic: "elision" })
    expect(note).toContain("41 earlier rounds")
    expect(note).toContain('session_search with session_id "20260101_120000_abcdef"')
    expect(note?.split("\n")).toHaveLength(43)
    expect(harness.removals.map(({ messages, layer }) => [messages.length, layer])).toEqual([[82, 2]])
    expect(isValidHistory(outcome.messages)).toBe(true)
  })

  test("4: of ten equal results the newest stays", async () => {
    const harness = createEngineHarness()
    const same = "the same file ".repeat(590)
    const before = [
      user("go"),
      ...Array.from({ length: 40 }, (_, index) =>
        toolRound([{ id: `c${index}`, result: index % 4 === 1 ? same : `short ${index}` }]),
      ).flat(),
    ]
    const outcome = await run(harness, before, { overheadTokens: overheadFor(8000) })
    expect([outcome.layersRun, outcome.removedMessages, harness.summaryRequests]).toEqual([[3], false, []])
    const results = outcome.messages.filter((message) => message.role === "tool")
    expect(results.filter(({ content }) => content === same).map((message) => message.tool_call_id)).toEqual(["c37"])
    expect(results.filter(({ content }) => contentText(content).includes("call c37"))).toHaveLength(9)
  })

  test("5: when most of the middle would be removed, it is summarised instead, with one model call", async () => {
    const harness = createEngineHarness()
    const outcome = await run(harness, talk(61, 4000), { overheadTokens: overheadFor(32_000) })
    expect([
      outcome.layersRun,
      outcome.removedMessages,
      outcome.fallbackSummary,
      harness.summaryRequests.length,
    ]).toEqual([[5], true, false, 1])
    expect(notesIn(outcome.messages)).toEqual([])
    expect(
      outcome.messages.filter((message) => message.role !== "system" && message.compressed_summary === true),
    ).toHaveLength(1)
  })

  test("6: a plan stays unchanged while the rounds around it are removed", async () => {
    const harness = createEngineHarness()
    const plan = assistant("The plan: first this, then that.", { compression_priority: "high" })
    const before = [...talk(5, 4000).slice(0, 5), plan, ...talk(76, 4000)]
    const outcome = await run(harness, before, { overheadTokens: overheadFor(55_000) })
    expect(outcome.layersRun).toEqual([4])
    expect(outcome.droppedRounds).toBeGreaterThan(10)
    expect(outcome.messages).toContain(plan)
    expect(isValidHistory(outcome.messages)).toBe(true)
  })

  test("7: the last user message stays, in order, in a long run of tool calls", async () => {
    const harness = createEngineHarness()
    const words = "Now do the long thing."
    const before = [...talk(10, 40), user(words), ...toolRounds(150, 400)]
    const outcome = await run(harness, before, { overheadTokens: overheadFor(12_000) })
    expect(outcome.layersRun[0]).toBe(2)
    const index = outcome.messages.findIndex((message) => message.role === "user" && userText(message) === words)
    expect([index > 2, index < 12]).toEqual([true, true])
    // The note about the removed rounds of its turn is before it.
    expect(contentText(outcome.messages[index]?.content ?? "")).toMatch(
      /^\[LEFT OUT TO SAVE SPACE: \d+ earlier rounds/u,
    )
  })

  test("8: a call and its results are removed or kept together", async () => {
    for (let last = 18; last <= 26; last += 1) {
      const harness = createEngineHarness({ settings: { protectLastN: last, snipStaleAfter: 1 } })
      const groups = Array.from({ length: 12 }, (_, index) =>
        toolRound([
          { id: `a${index}`, result: `a${index}`.repeat(1000) },
          { id: `b${index}`, result: `b${index}`.repeat(1000) },
        ]),
      ).flat()
      const outcome = await run(harness, [...talk(5, 40), ...groups], { overheadTokens: overheadFor(13_000) })
      expect([last, isValidHistory(outcome.messages), outcome.layersRun.includes(2)]).toEqual([last, true, true])
    }
  })

  test("9: a result the model has not seen is not shortened while the other layers suffice", async () => {
    const unseen = toolRound([{ id: "new", result: "z".repeat(200_000) }])
    const before = [user("go"), ...toolRounds(120, 1000), ...unseen]
    const outcome = await run(createEngineHarness(), before, { overheadTokens: overheadFor(75_000) })
    expect(outcome.layersRun).toEqual([2, 4])
    expect(outcome.messages.at(-1)).toBe(unseen[1])
    // When they do not, a part of it is kept.
    const tight = await run(createEngineHarness(), [user("go"), ...toolRounds(10, 100), ...unseen], {
      overheadTokens: overheadFor(30_000),
    })
    expect(tight.layersRun).toEqual([1])
    expect(sizeOf(tight.messages)).toBeLessThan(12_000)
  })

  test("10 and 11: a second run without new messages does nothing, and after two of those it is no longer due", async () => {
    const harness = createEngineHarness()
    const first = await run(harness, [user("go"), ...toolRounds(120, 3200)])
    expect([first.layersRun, harness.engine.shouldCompress(150_000)]).toEqual([[2, 4], true])
    for (const due of [true, false]) {
      const again = await run(harness, first.messages)
      expect([again.messages === first.messages, again.layersRun, again.tokensAfter]).toEqual([
        true,
        [],
        again.tokensBefore,
      ])
      expect(harness.engine.shouldCompress(150_000)).toBe(due)
    }
    // The provider rejected the request: a forced run must make it smaller.
    const forced = await run(harness, first.messages, { force: true })
    expect(forced.tokensAfter).toBeLessThan(0.71 * forced.tokensBefore)
    expect(harness.engine.shouldCompress(150_000)).toBe(true)
  })

  test("another model resets the counts", async () => {
    const harness = createEngineHarness()
    for (let count = 0; count < 2; count += 1) await run(harness, talk(3, 10))
    expect(harness.engine.shouldCompress(150_000)).toBe(false)
    harness.engine.updateModel({ provider: "custom", model: "other", contextLength: 100_000 })
    expect([harness.engine.shouldCompress(150_000), harness.engine.figures.thresholdTokens]).toEqual([true, 64_000])
  })

  test("12: the summarize strategy", async () => {
    const harness = createEngineHarness({ settings: { strategy: "summarize" } })
    const outcome = await run(harness, [...talk(40, 4000), user("go"), ...toolRounds(30, 4000)])
    expect([outcome.layersRun, harness.summaryRequests.length]).toEqual([[5], 1])
  })

  test("13: shortened JSON is still valid JSON", async () => {
    const results = [
      JSON.stringify({ output: "line\n".repeat(20_000), exit_code: 0 }),
      JSON.stringify({ files: Array.from({ length: 9000 }, (_, index) => `src/file-${index}.ts`) }),
      JSON.stringify(Array.from({ length: 20_000 }, (_, index) => index)),
    ]
    const harness = createEngineHarness()
    const before = [
      user("go"),
      ...results.flatMap((result, index) => toolRound([{ id: `j${index}`, result }])),
      ...toolRounds(15, 100),
    ]
    const outcome = await run(harness, [before[0]!, ...toolRounds(2, 100, "h"), ...before.slice(1)], {
      overheadTokens: overheadFor(30_000),
    })
    expect(outcome.layersRun).toEqual([1])
    const cut = outcome.messages.filter((message) => message.role === "tool" && message.tool_call_id.startsWith("j"))
    for (const { content } of cut) {
      const text = contentText(content)
      expect([parseJson(text) === undefined, text.length <= 32_768, text.length > 20_000]).toEqual([false, true, true])
      expect(text).toContain("All of it is in /tmp/hermes-results/j")
    }
  })

  test("14: a note separates two replies that became adjacent", async () => {
    const harness = createEngineHarness({ settings: { protectLastN: 4, protectFirstN: 0, snipStaleAfter: 1 } })
    const plan = assistant("A plan.", { compression_priority: "high" })
    const rounds = toolRounds(4, 8000)
    const before = [user("a"), plan, user("b".repeat(9000)), ...rounds, user("d")]
    const outcome = await run(harness, before, { overheadTokens: overheadFor(5000) })
    expect([outcome.layersRun, outcome.droppedRounds]).toEqual([[2], 2])
    const note = { role: "user", content: notesIn(outcome.messages)[0], synthetic: "elision" }
    expect(outcome.messages).toEqual([user("a"), plan, note, ...rounds.slice(4), user("d")])
    expect(isValidHistory(outcome.messages)).toBe(true)
  })

  test("15: layers 1 to 4 do not remove a summary", async () => {
    const harness = createEngineHarness()
    const summary = user("[CONTEXT COMPACTION — REFERENCE ONLY] x\n\n## Goal\ny", {
      compressed_summary: true,
      synthetic: "summary",
    })
    const before = [user("a"), assistant("b"), summary, ...toolRounds(100, 2000)]
    const outcome = await run(harness, before, { overheadTokens: overheadFor(35_000) })
    expect(harness.summaryRequests).toEqual([])
    expect(outcome.messages).toContain(summary)
  })

  test("16: without an auxiliary model the summary is extracted from the messages and says so", async () => {
    const harness = createEngineHarness({ summarise: undefined })
    const outcome = await run(harness, talk(61, 4000), { overheadTokens: overheadFor(32_000) })
    expect([outcome.layersRun, outcome.fallbackSummary, outcome.auxError]).toEqual([
      [5],
      true,
      "no model is available for summaries",
    ])
    const text = outcome.messages
      .map(({ content }) => contentText(content))
      .find((each) => each.includes("[CONTEXT COMPACTION"))
    expect(text).toContain("## Plan Decisions")
    expect(text).toContain("verify the state")
  })
})

test("a removal frees most of the window, so that the next one comes much later", async () => {
  for (const [window, share] of [
    [200_000, 0.35],
    [32_000, 0.3],
  ] as const) {
    const harness = createEngineHarness({ window })
    const before = [user("go"), ...toolRounds(Math.ceil(harness.engine.figures.thresholdTokens / 1700), 7000)]
    const outcome = await run(harness, before, { overheadTokens: 3000 })
    expect([outcome.layersRun.at(-1), outcome.tokensAfter < share * harness.engine.figures.thresholdTokens]).toEqual([
      4,
      true,
    ])
  }
})

test("the words of the user outlast everything else: whole, then listed, prohibitions last", async () => {
  const harness = createEngineHarness({ window: 32_000 })
  const rule = "Never push to the release branch."
  const turn = (index: number): readonly Message[] => [
    user(`Step ${index}: look at part ${index}. ${index === 3 ? rule : ""} ${"More words about it here. ".repeat(6)}`),
    ...toolRounds(1, 7000, `t${index}_`),
    assistant("Done."),
  ]
  let messages: readonly Message[] = []
  for (let index = 0; index < 300; index += 1) {
    messages = [...messages, ...turn(index)]
    if (sizeOf(messages) < 24_000) continue
    const outcome = await run(harness, messages, { overheadTokens: 3000, sessionId: `s${index}` })
    expect([isValidHistory(outcome.messages), outcome.layersRun.includes(5)]).toEqual([true, false])
    ;({ messages } = outcome)
  }
  const text = messages.map(({ content }) => contentText(content)).join("\n")
  for (const index of [250, 280, 299])
    expect(text).toContain(`Step ${index}: look at part ${index}.  More words about it here.`)
  expect(text).toContain("- Asked: Step 200: look at part 200.")
  expect(text).toContain(`- Ruled out: ${rule}`)
  expect(sizeOf(messages)).toBeLessThan(24_000)
})

test("adjacent notes are merged, and their counts add up", async () => {
  const harness = createEngineHarness({ settings: { protectLastN: 4, snipStaleAfter: 5 } })
  const overheadTokens = overheadFor(4000)
  const first = await run(harness, [user("go"), ...toolRounds(30, 600)], { overheadTokens })
  const second = await run(harness, [...first.messages, ...toolRounds(25, 600, "d")], {
    overheadTokens,
    sessionId: "second",
  })
  const notes = notesIn(second.messages)
  expect([first.layersRun, second.layersRun, notes.length]).toEqual([[2], [2], 1])
  expect(notes[0]).toContain(`${first.droppedRounds + second.droppedRounds} earlier rounds`)
  expect(notes[0]).toContain('session_id "second", "20260101_120000_abcdef"')
})

test("a note before a user's text is not treated as the user's text", async () => {
  const harness = createEngineHarness({
    settings: { protectLastN: 2, snipStaleAfter: 1, protectFirstN: 1 },
    hint: "one\n\ntwo\nthree\nfour",
  })
  const before = [...talk(20, 4000), user("The last words."), assistant("ok"), user("thanks")]
  const outcome = await run(harness, before, { overheadTokens: overheadFor(4000) })
  const carrier = outcome.messages.find((message) => contentText(message.content).startsWith("[LEFT OUT"))!
  expect(contentText(carrier.content)).toMatch(/- Note: one\n- Note: two\n- Note: three\n- Asked: /)
  expect(contentText(carrier.content)).not.toContain("four")
  expect(contentText(carrier.content).endsWith("\n[END OF NOTE]\n\nThe last words.")).toBe(true)
  expect(outcome.reshaped.get(carrier)).toEqual(user("The last words."))
})

test("secrets are masked in notes, in the summary request and in the summary", async () => {
  const mask = (text: string): string => text.replaceAll("hunter2-secret", "***")
  const harness = createEngineHarness({
    redact: mask,
    summarise: async () => await Promise.resolve({ kind: "text", text: "## Goal\nUse hunter2-secret." }),
  })
  const talkative = talk(60, 4000).map((message) => ({
    ...message,
    content: `hunter2-secret ${contentText(message.content)}`,
  }))
  const summarised = await run(harness, [...talkative, user("next")], { overheadTokens: overheadFor(32_000) })
  expect([harness.summaryRequests.length, harness.summaryRequests[0]?.prompt.includes("hunter2")]).toEqual([1, false])
  const carrier = summarised.messages.find(
    (message) => message.role !== "system" && message.compressed_summary === true,
  )!
  expect(contentText(carrier.content)).toContain("Use ***.")
  const noted = await run(harness, [...talkative, user("next")], { overheadTokens: overheadFor(50_000) })
  expect(noted.layersRun).toEqual([4])
  expect(notesIn(noted.messages).join()).not.toContain("hunter2-secret 1 ")
  expect(notesIn(noted.messages).join()).toContain("Asked: ***")
})

describe("the auxiliary model", () => {
  const messages = talk(61, 4000)
  const overheadTokens = overheadFor(32_000)

  test("a second summary updates the first and reads only later messages", async () => {
    const harness = createEngineHarness()
    const first = await run(harness, messages, { overheadTokens })
    const more = [...first.messages, assistant("ok"), ...talk(60, 4000), user("last")]
    const second = await run(harness, more, { overheadTokens })
    expect(
      second.messages.filter((message) => message.role !== "system" && message.compressed_summary === true),
    ).toHaveLength(1)
    const prompt = harness.summaryRequests[1]?.prompt ?? ""
    expect(prompt).toContain("<earlier_summary>\n## Active Task\nGo on.\n\n## Goal\nThe summary.\n</earlier_summary>")
    expect(prompt.split("<conversation>")[1]).not.toContain("[CONTEXT COMPACTION")
  })

  test("a session whose last message is a summary is updated as well", async () => {
    const harness = createEngineHarness()
    const ending = user("[CONTEXT SUMMARY]: The old way.", { compressed_summary: true })
    await run(harness, [...messages.slice(0, 60), ending], { overheadTokens, manual: true, force: true })
    expect(harness.summaryRequests[0]?.prompt).toContain("<earlier_summary>\nThe old way.\n</earlier_summary>")
  })

  test("the focus is the user's topic, or else their last messages", async () => {
    const harness = createEngineHarness()
    await run(harness, messages, { overheadTokens, focus: "the parser", manual: true })
    await run(harness, [...messages, assistant("x"), user("Now only the docs.")], { overheadTokens })
    expect(harness.summaryRequests.map(({ prompt }) => /The focus is: (.*)/u.exec(prompt)?.[1]?.slice(-30))).toEqual([
      "the parser",
      expect.stringMatching(/Now only the docs\.$/),
    ])
  })

  test("hints from memory are part of the summary request", async () => {
    const harness = createEngineHarness({ hint: "The deadline is Friday." })
    await run(harness, messages, { overheadTokens })
    expect(harness.summaryRequests[0]?.prompt).toContain("The deadline is Friday.")
    expect(harness.removals.map(({ layer }) => layer)).toEqual([5])
  })

  test("the user can request a summary before it is necessary", async () => {
    const harness = createEngineHarness()
    const outcome = await run(harness, messages, { manual: true, force: true })
    expect([outcome.layersRun, harness.summaryRequests.length]).toEqual([[5], 1])
  })

  test.each([1, 2, 5])(
    "the user can have all but the last %i exchanges summarised; those stay unchanged",
    async (keep) => {
      const harness = createEngineHarness()
      const exchanges = Array.from({ length: 8 }, (_, index) => [
        user(`question ${index}`),
        ...toolRound([{ id: `r${index}`, result: "line\n".repeat(2000) }]),
        assistant(`answer ${index}`),
      ])
      const history = exchanges.flat()
      const outcome = await run(harness, history, { manual: true, force: true, keepExchanges: keep })
      const kept = exchanges.slice(-keep).flat()
      const [first, ...others] = outcome.messages.slice(-kept.length)
      // The first of them may contain the summary before the user's text.
      expect(contentText(first!.content)).toMatch(new RegExp(`question ${8 - keep}$`))
      expect(others).toEqual(kept.slice(1))
      expect([outcome.layersRun, isValidHistory(outcome.messages), harness.summaryRequests.length]).toEqual([
        [5],
        true,
        1,
      ])
    },
  )

  test("with no more exchanges than are kept, nothing changes", async () => {
    const harness = createEngineHarness()
    const outcome = await run(harness, talk(6, 4000), { manual: true, force: true, keepExchanges: 3 })
    expect([outcome.layersRun, harness.summaryRequests.length]).toEqual([[], 0])
  })

  test("after a failure there is a cooldown, which a manual request ends", async () => {
    const clock = { now: () => time, sleep: async () => await Promise.resolve() }
    let time = Date.parse("2026-03-01T12:00:00")
    for (const [reply, pause] of [
      [{ noProvider: true, malformed: false }, 600_000],
      [{ noProvider: false, malformed: true }, 30_000],
      [{ noProvider: false, malformed: false }, 60_000],
    ] as const) {
      const harness = createEngineHarness({
        clock,
        summarise: async () => await Promise.resolve({ kind: "failed", message: "down", ...reply }),
      })
      await run(harness, messages, { overheadTokens })
      time += pause - 1
      const quiet = await run(harness, messages, { overheadTokens })
      expect([harness.summaryRequests.length, quiet.fallbackSummary, quiet.auxError]).toEqual([1, true, "down"])
      await run(harness, messages, { overheadTokens, manual: true })
      expect(harness.summaryRequests.length).toBe(2)
      time += pause
      await run(harness, messages, { overheadTokens })
      expect(harness.summaryRequests.length).toBe(3)
      expect(harness.summaryRequests[0]?.prompt).toContain("Today is 2026-03-01.")
    }
  })

  test("with an invalid clock the request has no date", async () => {
    const harness = createEngineHarness({
      clock: { now: () => Number.NaN, sleep: async () => await Promise.resolve() },
    })
    await run(harness, messages, { overheadTokens })
    expect(harness.summaryRequests[0]?.prompt).not.toContain("Today is")
  })

  test("a warning reports that the main model wrote the summary", async () => {
    const harness = createEngineHarness({
      summarise: async () => await Promise.resolve({ kind: "text", text: "## Goal\nx", usedMain: true }),
    })
    const outcome = await run(harness, messages, { overheadTokens })
    expect([outcome.fallbackSummary, outcome.auxError?.includes("auxiliary.compression")]).toEqual([false, true])
  })

  test("an interrupt changes nothing and does not count as an ineffective run", async () => {
    const controller = new AbortController()
    const harness = createEngineHarness({
      summarise: async () => {
        controller.abort()
        return await Promise.resolve({ kind: "aborted" })
      },
    })
    for (let count = 0; count < 3; count += 1) {
      const outcome = await run(harness, messages, { overheadTokens, signal: controller.signal })
      expect([outcome.messages === messages, outcome.aborted, outcome.layersRun]).toEqual([true, true, []])
    }
    expect(harness.engine.shouldCompress(150_000)).toBe(true)
  })

  test("with abort_on_summary_failure a failure changes nothing", async () => {
    const harness = createEngineHarness({
      settings: { abortOnSummaryFailure: true },
      summarise: async () =>
        await Promise.resolve({ kind: "failed", message: "down", noProvider: false, malformed: false }),
    })
    const outcome = await run(harness, [user("go"), ...toolRounds(60, 150), ...messages], {
      overheadTokens: overheadFor(20_000),
    })
    expect([outcome.layersRun, outcome.aborted, outcome.auxError, outcome.reshaped.size]).toEqual([[], true, "down", 0])
  })

  test("a summary that is larger than what it replaces is not used", async () => {
    const harness = createEngineHarness({
      summarise: async () => await Promise.resolve({ kind: "text", text: "long ".repeat(4000) }),
    })
    const small = talk(12, 1200)
    const outcome = await run(harness, small, { manual: true, force: true })
    expect([outcome.messages === small, outcome.layersRun, harness.summaryRequests.length]).toEqual([true, [], 1])
  })

  test("a memory failure does not stop a compression", async () => {
    const harness = createEngineHarness()
    const outcome = await run(harness, messages, {
      overheadTokens,
      beforeRemoval: async () => await Promise.reject(new Error("memory is gone")),
    })
    expect(outcome.layersRun).toEqual([5])
  })
})

describe("when a compression is due", () => {
  test("from the threshold on; not while the real size is unknown", async () => {
    const { engine } = createEngineHarness()
    expect([99_999, 100_000, -1, 0].map((tokens) => engine.shouldCompress(tokens))).toEqual([false, true, false, false])
    const harness = createEngineHarness()
    await run(harness, [user("go"), ...toolRounds(120, 150)], { overheadTokens: overheadFor(6000) })
    expect(harness.engine.figures).toEqual({
      lastPromptTokens: -1,
      thresholdTokens: 100_000,
      targetTokens: 80_000,
      contextLength: 200_000,
      compressionCount: 1,
    })
    // A reply without usage ends that too: from now on the estimate is used.
    harness.engine.updateFromResponse({ realTokens: 0, estimatedTokens: 5000 })
    expect(harness.engine.figures.lastPromptTokens).toBe(0)
  })

  test.each([
    ["nothing is known", undefined, 101_000, false],
    ["the last request was over the threshold", { realTokens: 100_000, estimatedTokens: 101_000 }, 101_000, false],
    [
      "the real size was smaller, and little was added",
      { realTokens: 80_000, estimatedTokens: 101_000 },
      105_000,
      true,
    ],
    ["five percent of the threshold was added", { realTokens: 80_000, estimatedTokens: 101_000 }, 106_000, true],
    ["more was added", { realTokens: 80_000, estimatedTokens: 101_000 }, 106_001, false],
    ["the provider reported no usage", { realTokens: 0, estimatedTokens: 101_000 }, 101_000, false],
  ])(
    "an estimate above the threshold is deferred when the real size allows it: %s",
    (_name, reply, estimate, waits) => {
      const { engine } = createEngineHarness()
      if (reply !== undefined) engine.updateFromResponse(reply)
      expect(engine.shouldDeferPreflight(estimate)).toBe(waits)
    },
  )

  test("in a small window nothing is deferred beyond its end", () => {
    const { engine } = createEngineHarness({ window: 8192 })
    engine.updateFromResponse({ realTokens: 6900, estimatedTokens: 6900 })
    expect([engine.shouldDeferPreflight(7000), engine.shouldDeferPreflight(8000)]).toEqual([true, false])
  })

  test("there must be something to compress", async () => {
    const { engine } = createEngineHarness()
    expect(await engine.hasContentToCompress(talk(3, 100))).toBe(false)
    expect(
      await engine.hasContentToCompress([user("go"), ...toolRound([{ id: "c", result: "x".repeat(40_000) }])]),
    ).toBe(true)
    expect(await engine.hasContentToCompress(talk(40, 4000))).toBe(true)
  })

  test("when the provider counts more than estimated, more is removed", async () => {
    const before = [user("go"), ...toolRounds(120, 1200)]
    const plain = createEngineHarness()
    const wary = createEngineHarness()
    wary.engine.updateFromResponse({ realTokens: 120_000, estimatedTokens: 80_000 })
    const overheadTokens = 40_000
    expect((await run(plain, before, { overheadTokens })).layersRun).toEqual([])
    const outcome = await run(wary, before, { overheadTokens })
    expect(outcome.layersRun).not.toEqual([])
    expect(outcome.tokensAfter * 1.5).toBeLessThanOrEqual(80_000)
  })
})

describe("a long run of tool calls in a small window", () => {
  test.each([
    [8192, 2500, 1200],
    [8192, 4000, 800],
    [32_000, 4000, 3200],
    [32_000, 8000, 16_000],
  ])(
    "%i tokens, %i of them taken: 300 rounds, no overflow, hardly a summary",
    async (window, overheadTokens, chars) => {
      const harness = createEngineHarness({ window })
      const estimator = createEstimator()
      let history: readonly Message[] = [user(`The long task. ${"Details. ".repeat(40)}`)]
      let runs = 0
      for (let round = 0; round < 300; round += 1) {
        // Sizes vary as they do in real work: many small results, few large ones.
        const size = Math.floor(chars * 4 * (((round * 7919) % 100) / 100) ** 3)
        history = [
          ...history,
          ...toolRound([
            {
              id: `c${round}`,
              tool: "terminal",
              args: { command: `step ${round}` },
              result: `${round} `.padEnd(size, "output\n"),
            },
          ]),
        ]
        if (harness.engine.shouldCompress(estimator.messages(history) + overheadTokens)) {
          const outcome = await run(harness, history, { overheadTokens })
          runs += 1
          expect(isValidHistory(outcome.messages)).toBe(true)
          expect(contentText(outcome.messages[0]?.content ?? null)).toContain("The long task.")
          history = outcome.messages
        }
        expect(estimator.messages(history) + overheadTokens).toBeLessThan(window)
      }
      expect(runs).toBeGreaterThan(5)
      expect(harness.summaryRequests.length / runs).toBeLessThanOrEqual(0.2)
    },
  )
})
