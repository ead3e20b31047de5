import { describe, expect, test } from "vitest"

import { assistant, engineBench, talk, toolRound, toolRounds, user } from "../../../test/fixtures/agent/histories.ts"
import type { EngineBench } from "../../../test/fixtures/agent/histories.ts"
import { parseJson } from "../../base/json.ts"
import { contentText } from "../../protocol/message.ts"
import type { Message } from "../../protocol/message.ts"
import type { CompressOutcome, CompressOptions } from "./engine.ts"
import { createEstimator } from "./estimate.ts"
import { isValidHistory } from "./validity.ts"

/** Overhead that leaves exactly `room` tokens for messages in a window of 200,000 (target 80,000). */
const overheadFor = (room: number): number => 80_000 - room
const sizeOf = (messages: readonly Message[]): number => createEstimator().messages(messages)

async function run(
  bench: EngineBench,
  messages: readonly Message[],
  more: Partial<CompressOptions> = {},
): Promise<CompressOutcome> {
  return await bench.engine.compress(messages, { ...bench.request, ...more })
}

function notesIn(messages: readonly Message[]): readonly string[] {
  return messages.map(({ content }) => contentText(content)).filter((text) => text.startsWith("[LEFT OUT"))
}

describe("the five layers", () => {
  test("1: one large result is cut, kept in a file and nothing else is done", async () => {
    const bench = engineBench()
    const before = [
      user("go"),
      ...toolRounds(5, 100),
      ...toolRound([{ id: "big", result: "line\n".repeat(12_000) }]),
      ...toolRounds(15, 100, "d"),
    ]
    const outcome = await run(bench, before, { overheadTokens: overheadFor(15_000) })
    expect([outcome.layersRun, outcome.removedMessages, outcome.droppedRounds, bench.asked.length]).toEqual([
      [1],
      false,
      0,
      0,
    ])
    expect(bench.spilled).toEqual([{ text: "line\n".repeat(12_000), callId: "big" }])
    const cut = outcome.messages.find((message) => message.role === "tool" && message.tool_call_id === "big")!
    expect(contentText(cut.content)).toContain("of 60000 characters kept. All of it is in /tmp/hermes-results/big.txt;")
    expect([...outcome.reshaped]).toEqual([
      [cut, before.find((message) => message.role === "tool" && message.tool_call_id === "big")],
    ])
    // All others are the same objects: their encoded bytes are kept.
    expect(outcome.messages.filter((message) => message !== cut)).toEqual(
      before.filter((_, index) => outcome.messages[index] !== cut),
    )
    expect(outcome.messages.filter((message, index) => message !== before[index])).toEqual([cut])
  })

  test("2: a result that is part of a plan is not cut", async () => {
    const bench = engineBench({ settings: { hardTruncateMaxLoss: 0 } })
    const plan = toolRound([{ id: "big", result: "x".repeat(60_000) }], { tool: { compression_priority: "high" } })
    const outcome = await run(bench, [user("go"), ...toolRounds(15, 4000), ...plan, ...toolRounds(15, 100, "d")], {
      overheadTokens: overheadFor(25_000),
    })
    expect(outcome.layersRun).not.toEqual([])
    expect(outcome.messages).toEqual(expect.arrayContaining([...plan]))
    const normal = engineBench({ settings: { planPriority: "normal" } })
    const cut = await run(normal, [user("go"), ...plan, ...toolRounds(15, 100, "d")], {
      overheadTokens: overheadFor(14_000),
    })
    expect(cut.layersRun).toEqual([1])
  })

  test("3: of 120 short rounds those go that are 50 rounds old, outside head and tail", async () => {
    const bench = engineBench()
    const before = [user("go"), ...toolRounds(120, 150)]
    const outcome = await run(bench, before, { overheadTokens: overheadFor(6000) })
    expect([outcome.layersRun, outcome.removedMessages, outcome.droppedRounds, bench.asked]).toEqual([
      [2],
      true,
      69,
      [],
    ])
    expect(outcome.messages.slice(0, 3)).toEqual(before.slice(0, 3))
    expect(outcome.messages.slice(4)).toEqual(before.slice(3 + 2 * 69))
    const [note] = notesIn(outcome.messages)
    expect(outcome.messages[3]).toEqual({ role: "user", content: note, synthetic: "elision" })
    expect(note).toContain("69 earlier rounds")
    expect(note).toContain('session_search with session_id "20260101_120000_abcdef"')
    expect(note?.split("\n")).toHaveLength(14)
    expect(bench.lost.map(({ doomed, layer }) => [doomed.length, layer])).toEqual([[138, 2]])
    expect(isValidHistory(outcome.messages)).toBe(true)
  })

  test("4: of ten equal results the newest stays", async () => {
    const bench = engineBench()
    const same = "the same file ".repeat(590)
    const before = [
      user("go"),
      ...Array.from({ length: 40 }, (_, index) =>
        toolRound([{ id: `c${index}`, result: index % 4 === 1 ? same : `short ${index}` }]),
      ).flat(),
    ]
    const outcome = await run(bench, before, { overheadTokens: overheadFor(8000) })
    expect([outcome.layersRun, outcome.removedMessages, bench.asked]).toEqual([[3], false, []])
    const results = outcome.messages.filter((message) => message.role === "tool")
    expect(results.filter(({ content }) => content === same).map((message) => message.tool_call_id)).toEqual(["c37"])
    expect(results.filter(({ content }) => contentText(content).includes("call c37"))).toHaveLength(9)
  })

  test("5: when most of the middle would have to go, it is summarised instead, with one call", async () => {
    const bench = engineBench()
    const outcome = await run(bench, talk(61, 4000), { overheadTokens: overheadFor(32_000) })
    expect([outcome.layersRun, outcome.removedMessages, outcome.fallbackSummary, bench.asked.length]).toEqual([
      [5],
      true,
      false,
      1,
    ])
    expect(notesIn(outcome.messages)).toEqual([])
    expect(
      outcome.messages.filter((message) => message.role !== "system" && message.compressed_summary === true),
    ).toHaveLength(1)
  })

  test("6: a plan stays word for word while the rounds around it go", async () => {
    const bench = engineBench()
    const plan = assistant("The plan: first this, then that.", { compression_priority: "high" })
    const before = [...talk(5, 4000).slice(0, 5), plan, ...talk(76, 4000)]
    const outcome = await run(bench, before, { overheadTokens: overheadFor(55_000) })
    expect(outcome.layersRun).toEqual([4])
    expect(outcome.droppedRounds).toBeGreaterThan(10)
    expect(outcome.messages).toContain(plan)
    expect(isValidHistory(outcome.messages)).toBe(true)
  })

  test("7: the person's last words stay in a long run on its own, in order", async () => {
    const bench = engineBench()
    const words = user("Now do the long thing.")
    const before = [...talk(10, 40), words, ...toolRounds(150, 400)]
    const outcome = await run(bench, before, { overheadTokens: overheadFor(12_000) })
    expect(outcome.layersRun[0]).toBe(2)
    expect(outcome.messages.indexOf(words)).toBeGreaterThan(2)
    expect(outcome.messages.indexOf(words)).toBeLessThan(12)
  })

  test("8: a call and all its results go or stay together", async () => {
    for (let last = 18; last <= 26; last += 1) {
      const bench = engineBench({ settings: { protectLastN: last, snipStaleAfter: 1 } })
      const groups = Array.from({ length: 12 }, (_, index) =>
        toolRound([
          { id: `a${index}`, result: `a${index}`.repeat(1000) },
          { id: `b${index}`, result: `b${index}`.repeat(1000) },
        ]),
      ).flat()
      const outcome = await run(bench, [...talk(5, 40), ...groups], { overheadTokens: overheadFor(13_000) })
      expect([last, isValidHistory(outcome.messages), outcome.layersRun.includes(2)]).toEqual([last, true, true])
    }
  })

  test("9: a result the model has not seen is not cut while the other layers suffice", async () => {
    const unseen = toolRound([{ id: "new", result: "z".repeat(200_000) }])
    const before = [user("go"), ...toolRounds(120, 1000), ...unseen]
    const outcome = await run(engineBench(), before, { overheadTokens: overheadFor(75_000) })
    expect(outcome.layersRun).toEqual([2])
    expect(outcome.messages.at(-1)).toBe(unseen[1])
    // When they do not, a part of it is better than nothing.
    const tight = await run(engineBench(), [user("go"), ...toolRounds(10, 100), ...unseen], {
      overheadTokens: overheadFor(30_000),
    })
    expect(tight.layersRun).toEqual([1])
    expect(sizeOf(tight.messages)).toBeLessThan(12_000)
  })

  test("10 and 11: a second run without new messages does nothing, and after two of those it is no longer due", async () => {
    const bench = engineBench()
    const first = await run(bench, [user("go"), ...toolRounds(120, 3200)])
    expect([first.layersRun, bench.engine.shouldCompress(150_000)]).toEqual([[2], true])
    for (const due of [true, false]) {
      const again = await run(bench, first.messages)
      expect([again.messages === first.messages, again.layersRun, again.tokensAfter]).toEqual([
        true,
        [],
        again.tokensBefore,
      ])
      expect(bench.engine.shouldCompress(150_000)).toBe(due)
    }
    // The provider refused the request: it is tried all the same, and this time it has to get smaller.
    const forced = await run(bench, first.messages, { force: true })
    expect(forced.tokensAfter).toBeLessThan(0.71 * forced.tokensBefore)
    expect(bench.engine.shouldCompress(150_000)).toBe(true)
  })

  test("another model starts with a clean slate", async () => {
    const bench = engineBench()
    for (let count = 0; count < 2; count += 1) await run(bench, talk(3, 10))
    expect(bench.engine.shouldCompress(150_000)).toBe(false)
    bench.engine.updateModel({ provider: "custom", model: "other", contextLength: 100_000 })
    expect([bench.engine.shouldCompress(150_000), bench.engine.figures.thresholdTokens]).toEqual([true, 64_000])
  })

  test("12: the strategy that only summarises", async () => {
    const bench = engineBench({ settings: { strategy: "summarize" } })
    const outcome = await run(bench, [...talk(40, 4000), user("go"), ...toolRounds(30, 4000)])
    expect([outcome.layersRun, bench.asked.length]).toEqual([[5], 1])
  })

  test("13: JSON that was cut is still JSON", async () => {
    const results = [
      JSON.stringify({ output: "line\n".repeat(20_000), exit_code: 0 }),
      JSON.stringify({ files: Array.from({ length: 9000 }, (_, index) => `src/file-${index}.ts`) }),
      JSON.stringify(Array.from({ length: 20_000 }, (_, index) => index)),
    ]
    const bench = engineBench()
    const before = [
      user("go"),
      ...results.flatMap((result, index) => toolRound([{ id: `j${index}`, result }])),
      ...toolRounds(15, 100),
    ]
    const outcome = await run(bench, [before[0]!, ...toolRounds(2, 100, "h"), ...before.slice(1)], {
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

  test("14: a note stands between two replies that a gap has brought together", async () => {
    const bench = engineBench({ settings: { protectLastN: 4, protectFirstN: 0, snipStaleAfter: 1 } })
    const plan = assistant("A plan.", { compression_priority: "high" })
    const rounds = toolRounds(4, 8000)
    const before = [user("a"), plan, user("b".repeat(9000)), ...rounds, user("d")]
    const outcome = await run(bench, before, { overheadTokens: overheadFor(7000) })
    expect([outcome.layersRun, outcome.droppedRounds]).toEqual([[2], 2])
    const note = { role: "user", content: notesIn(outcome.messages)[0], synthetic: "elision" }
    expect(outcome.messages).toEqual([user("a"), plan, note, ...rounds.slice(4), user("d")])
    expect(isValidHistory(outcome.messages)).toBe(true)
  })

  test("15: a summary is not dropped by the layers without a model", async () => {
    const bench = engineBench()
    const summary = user("[CONTEXT COMPACTION — REFERENCE ONLY] x\n\n## Goal\ny", {
      compressed_summary: true,
      synthetic: "summary",
    })
    const before = [user("a"), assistant("b"), summary, ...toolRounds(100, 2000)]
    const outcome = await run(bench, before, { overheadTokens: overheadFor(35_000) })
    expect(bench.asked).toEqual([])
    expect(outcome.messages).toContain(summary)
  })

  test("16: without a side model the summary is put together from the messages, and that is said", async () => {
    const bench = engineBench({ summarise: undefined })
    const outcome = await run(bench, talk(61, 4000), { overheadTokens: overheadFor(32_000) })
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

test("notes side by side become one, and their counts add up", async () => {
  const bench = engineBench({ settings: { protectLastN: 4, snipStaleAfter: 5 } })
  const overheadTokens = overheadFor(4000)
  const first = await run(bench, [user("go"), ...toolRounds(30, 600)], { overheadTokens })
  const second = await run(bench, [...first.messages, ...toolRounds(25, 600, "d")], {
    overheadTokens,
    sessionId: "second",
  })
  const notes = notesIn(second.messages)
  expect([first.layersRun, second.layersRun, notes.length]).toEqual([[2], [2], 1])
  expect(notes[0]).toContain(`${first.droppedRounds + second.droppedRounds} earlier rounds`)
  expect(notes[0]).toContain('session_id "second", "20260101_120000_abcdef"')
})

test("a note before the person's words leaves them findable, and is not taken for them", async () => {
  const bench = engineBench({
    settings: { protectLastN: 2, snipStaleAfter: 1, protectFirstN: 1 },
    hint: "one\n\ntwo\nthree\nfour",
  })
  const before = [...talk(20, 4000), user("The last words."), assistant("ok"), user("thanks")]
  const outcome = await run(bench, before, { overheadTokens: overheadFor(4000) })
  const carrier = outcome.messages.find((message) => contentText(message.content).startsWith("[LEFT OUT"))!
  expect(contentText(carrier.content)).toMatch(/- Note: one\n- Note: two\n- Note: three\n- Asked: /)
  expect(contentText(carrier.content)).not.toContain("four")
  expect(contentText(carrier.content).endsWith("\n[END OF NOTE]\n\nThe last words.")).toBe(true)
  expect(outcome.reshaped.get(carrier)).toEqual(user("The last words."))
})

test("secrets are masked in notes, in the question to the side model and in its answer", async () => {
  const mask = (text: string): string => text.replaceAll("hunter2-secret", "***")
  const bench = engineBench({
    redact: mask,
    summarise: async () => await Promise.resolve({ kind: "text", text: "## Goal\nUse hunter2-secret." }),
  })
  const talkative = talk(60, 4000).map((message) => ({
    ...message,
    content: `hunter2-secret ${contentText(message.content)}`,
  }))
  const summarised = await run(bench, [...talkative, user("next")], { overheadTokens: overheadFor(32_000) })
  expect([bench.asked.length, bench.asked[0]?.prompt.includes("hunter2")]).toEqual([1, false])
  const carrier = summarised.messages.find(
    (message) => message.role !== "system" && message.compressed_summary === true,
  )!
  expect(contentText(carrier.content)).toContain("Use ***.")
  const noted = await run(bench, [...talkative, user("next")], { overheadTokens: overheadFor(50_000) })
  expect(noted.layersRun).toEqual([4])
  expect(notesIn(noted.messages).join()).not.toContain("hunter2-secret 1 ")
  expect(notesIn(noted.messages).join()).toContain("Asked: ***")
})

describe("the side model", () => {
  const messages = talk(61, 4000)
  const overheadTokens = overheadFor(32_000)

  test("a second summary builds on the first and sees only what came later", async () => {
    const bench = engineBench()
    const first = await run(bench, messages, { overheadTokens })
    const more = [...first.messages, assistant("ok"), ...talk(60, 4000), user("last")]
    const second = await run(bench, more, { overheadTokens })
    expect(
      second.messages.filter((message) => message.role !== "system" && message.compressed_summary === true),
    ).toHaveLength(1)
    const prompt = bench.asked[1]?.prompt ?? ""
    expect(prompt).toContain("<earlier_summary>\n## Active Task\nGo on.\n\n## Goal\nThe summary.\n</earlier_summary>")
    expect(prompt.split("<conversation>")[1]).not.toContain("[CONTEXT COMPACTION")
  })

  test("a session whose last message is a summary is built on as well", async () => {
    const bench = engineBench()
    const ending = user("[CONTEXT SUMMARY]: The old way.", { compressed_summary: true })
    await run(bench, [...messages.slice(0, 60), ending], { overheadTokens, manual: true, force: true })
    expect(bench.asked[0]?.prompt).toContain("<earlier_summary>\nThe old way.\n</earlier_summary>")
  })

  test("the topic of the person, or their last messages, say what matters", async () => {
    const bench = engineBench()
    await run(bench, messages, { overheadTokens, focus: "the parser", manual: true })
    await run(bench, [...messages, assistant("x"), user("Now only the docs.")], { overheadTokens })
    expect(bench.asked.map(({ prompt }) => /The focus is: (.*)/u.exec(prompt)?.[1]?.slice(-30))).toEqual([
      "the parser",
      expect.stringMatching(/Now only the docs\.$/),
    ])
  })

  test("what the memory wants kept reaches it", async () => {
    const bench = engineBench({ hint: "The deadline is Friday." })
    await run(bench, messages, { overheadTokens })
    expect(bench.asked[0]?.prompt).toContain("The deadline is Friday.")
    expect(bench.lost.map(({ layer }) => layer)).toEqual([5])
  })

  test("a person can ask for a summary before it is necessary", async () => {
    const bench = engineBench()
    const outcome = await run(bench, messages, { manual: true, force: true })
    expect([outcome.layersRun, bench.asked.length]).toEqual([[5], 1])
  })

  test.each([1, 2, 5])(
    "a person can have all but the last %i exchanges summarised; those stay as they are",
    async (keep) => {
      const bench = engineBench()
      const exchanges = Array.from({ length: 8 }, (_, index) => [
        user(`question ${index}`),
        ...toolRound([{ id: `r${index}`, result: "line\n".repeat(2000) }]),
        assistant(`answer ${index}`),
      ])
      const history = exchanges.flat()
      const outcome = await run(bench, history, { manual: true, force: true, keepExchanges: keep })
      const kept = exchanges.slice(-keep).flat()
      const [first, ...others] = outcome.messages.slice(-kept.length)
      // The summary may stand in the first of them, before the words of the person.
      expect(contentText(first!.content)).toMatch(new RegExp(`question ${8 - keep}$`))
      expect(others).toEqual(kept.slice(1))
      expect([outcome.layersRun, isValidHistory(outcome.messages), bench.asked.length]).toEqual([[5], true, 1])
    },
  )

  test("where there are no more exchanges than are to stay, nothing is done", async () => {
    const bench = engineBench()
    const outcome = await run(bench, talk(6, 4000), { manual: true, force: true, keepExchanges: 3 })
    expect([outcome.layersRun, bench.asked.length]).toEqual([[], 0])
  })

  test("after a failure it is left alone for a while; a person who asks does not wait", async () => {
    const clock = { now: () => time, sleep: async () => await Promise.resolve() }
    let time = Date.parse("2026-03-01T12:00:00")
    for (const [reply, pause] of [
      [{ noProvider: true, malformed: false }, 600_000],
      [{ noProvider: false, malformed: true }, 30_000],
      [{ noProvider: false, malformed: false }, 60_000],
    ] as const) {
      const bench = engineBench({
        clock,
        summarise: async () => await Promise.resolve({ kind: "failed", message: "down", ...reply }),
      })
      await run(bench, messages, { overheadTokens })
      time += pause - 1
      const quiet = await run(bench, messages, { overheadTokens })
      expect([bench.asked.length, quiet.fallbackSummary, quiet.auxError]).toEqual([1, true, "down"])
      await run(bench, messages, { overheadTokens, manual: true })
      expect(bench.asked.length).toBe(2)
      time += pause
      await run(bench, messages, { overheadTokens })
      expect(bench.asked.length).toBe(3)
      expect(bench.asked[0]?.prompt).toContain("Today is 2026-03-01.")
    }
  })

  test("without a clock no date is given", async () => {
    const bench = engineBench({ clock: { now: () => Number.NaN, sleep: async () => await Promise.resolve() } })
    await run(bench, messages, { overheadTokens })
    expect(bench.asked[0]?.prompt).not.toContain("Today is")
  })

  test("the person is told when the main model had to write it", async () => {
    const bench = engineBench({
      summarise: async () => await Promise.resolve({ kind: "text", text: "## Goal\nx", usedMain: true }),
    })
    const outcome = await run(bench, messages, { overheadTokens })
    expect([outcome.fallbackSummary, outcome.auxError?.includes("auxiliary.compression")]).toEqual([false, true])
  })

  test("an interrupt leaves everything as it was, and is not held against the engine", async () => {
    const controller = new AbortController()
    const bench = engineBench({
      summarise: async () => {
        controller.abort()
        return await Promise.resolve({ kind: "aborted" })
      },
    })
    for (let count = 0; count < 3; count += 1) {
      const outcome = await run(bench, messages, { overheadTokens, signal: controller.signal })
      expect([outcome.messages === messages, outcome.aborted, outcome.layersRun]).toEqual([true, true, []])
    }
    expect(bench.engine.shouldCompress(150_000)).toBe(true)
  })

  test("with abort_on_summary_failure a failure leaves everything as it was", async () => {
    const bench = engineBench({
      settings: { abortOnSummaryFailure: true },
      summarise: async () =>
        await Promise.resolve({ kind: "failed", message: "down", noProvider: false, malformed: false }),
    })
    const outcome = await run(bench, [user("go"), ...toolRounds(60, 150), ...messages], {
      overheadTokens: overheadFor(20_000),
    })
    expect([outcome.layersRun, outcome.aborted, outcome.auxError, outcome.reshaped.size]).toEqual([[], true, "down", 0])
  })

  test("a summary that is larger than what it replaces is not used", async () => {
    const bench = engineBench({
      summarise: async () => await Promise.resolve({ kind: "text", text: "long ".repeat(4000) }),
    })
    const small = talk(12, 1200)
    const outcome = await run(bench, small, { manual: true, force: true })
    expect([outcome.messages === small, outcome.layersRun, bench.asked.length]).toEqual([true, [], 1])
  })

  test("memory that fails does not stop a compression", async () => {
    const bench = engineBench()
    const outcome = await run(bench, messages, {
      overheadTokens,
      beforeLoss: async () => await Promise.reject(new Error("memory is gone")),
    })
    expect(outcome.layersRun).toEqual([5])
  })
})

describe("when it is due", () => {
  test("from the threshold on; not while the real size is unknown", async () => {
    const { engine } = engineBench()
    expect([99_999, 100_000, -1, 0].map((tokens) => engine.shouldCompress(tokens))).toEqual([false, true, false, false])
    const bench = engineBench()
    await run(bench, [user("go"), ...toolRounds(120, 150)], { overheadTokens: overheadFor(6000) })
    expect(bench.engine.figures).toEqual({
      lastPromptTokens: -1,
      thresholdTokens: 100_000,
      targetTokens: 80_000,
      contextLength: 200_000,
      compressionCount: 1,
    })
    // A provider that does not count ends that too: from now on the estimate is all there is.
    bench.engine.updateFromResponse({ realTokens: 0, estimatedTokens: 5000 })
    expect(bench.engine.figures.lastPromptTokens).toBe(0)
  })

  test.each([
    ["nothing is known", undefined, 101_000, false],
    ["the last request was over the threshold", { realTokens: 100_000, estimatedTokens: 101_000 }, 101_000, false],
    ["it really was smaller, and little came since", { realTokens: 80_000, estimatedTokens: 101_000 }, 105_000, true],
    ["five percent of the threshold is little", { realTokens: 80_000, estimatedTokens: 101_000 }, 106_000, true],
    ["much came since", { realTokens: 80_000, estimatedTokens: 101_000 }, 106_001, false],
    ["the provider did not say", { realTokens: 0, estimatedTokens: 101_000 }, 101_000, false],
  ])("an estimate over the threshold waits when reality says so: %s", (_name, reply, estimate, waits) => {
    const { engine } = engineBench()
    if (reply !== undefined) engine.updateFromResponse(reply)
    expect(engine.shouldDeferPreflight(estimate)).toBe(waits)
  })

  test("in a small window no trust reaches beyond it", () => {
    const { engine } = engineBench({ window: 8192 })
    engine.updateFromResponse({ realTokens: 6900, estimatedTokens: 6900 })
    expect([engine.shouldDeferPreflight(7000), engine.shouldDeferPreflight(8000)]).toEqual([true, false])
  })

  test("there must be something to shorten", async () => {
    const { engine } = engineBench()
    expect(await engine.hasContentToCompress(talk(3, 100))).toBe(false)
    expect(
      await engine.hasContentToCompress([user("go"), ...toolRound([{ id: "c", result: "x".repeat(40_000) }])]),
    ).toBe(true)
    expect(await engine.hasContentToCompress(talk(40, 4000))).toBe(true)
  })

  test("where the provider counts more than was estimated, more is taken out", async () => {
    const before = [user("go"), ...toolRounds(120, 1200)]
    const plain = engineBench()
    const wary = engineBench()
    wary.engine.updateFromResponse({ realTokens: 120_000, estimatedTokens: 80_000 })
    const overheadTokens = 40_000
    expect((await run(plain, before, { overheadTokens })).layersRun).toEqual([])
    const outcome = await run(wary, before, { overheadTokens })
    expect(outcome.layersRun).not.toEqual([])
    expect(outcome.tokensAfter * 1.5).toBeLessThanOrEqual(80_000)
  })
})

describe("a long task on its own in a small window", () => {
  test.each([
    [8192, 2500, 1200],
    [8192, 4000, 800],
    [32_000, 4000, 3200],
    [32_000, 8000, 16_000],
  ])(
    "%i tokens, %i of them taken: 300 rounds, no overflow, hardly a summary",
    async (window, overheadTokens, chars) => {
      const bench = engineBench({ window })
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
        if (bench.engine.shouldCompress(estimator.messages(history) + overheadTokens)) {
          const outcome = await run(bench, history, { overheadTokens })
          runs += 1
          expect(isValidHistory(outcome.messages)).toBe(true)
          expect(contentText(outcome.messages[0]?.content ?? null)).toContain("The long task.")
          history = outcome.messages
        }
        expect(estimator.messages(history) + overheadTokens).toBeLessThan(window)
      }
      expect(runs).toBeGreaterThan(5)
      expect(bench.asked.length / runs).toBeLessThanOrEqual(0.2)
    },
  )
})
