import { describe, expect, test } from "vitest"

import { completionExplainer, mutationFooter } from "./turn-footer.ts"

describe("files that were not written", () => {
  const footer = (paths: string): string =>
    `Note: a change to these files failed in this turn: ${paths}. Check them before you rely on them.`

  test.each([
    { name: "nothing failed", failedWrites: [], finalText: "All done.", expected: "" },
    { name: "not mentioned", failedWrites: ["src/a.ts"], finalText: "All done.", expected: footer("`src/a.ts`") },
    {
      name: "a claim of success",
      failedWrites: ["src/a.ts"],
      finalText: "I updated src/a.ts. The test for b.ts failed.",
      expected: footer("`src/a.ts`"),
    },
    { name: "reported by path", failedWrites: ["/w/a.ts"], finalText: "I could not write /w/a.ts.", expected: "" },
    { name: "reported by name", failedWrites: ["/w/a.ts"], finalText: "Writing a.ts failed: no space.", expected: "" },
    {
      name: "reported in a list",
      failedWrites: ["/w/a.ts", "/w/b.ts"],
      finalText: "These could not be written:\n- a.ts\n- b.ts",
      expected: "",
    },
    {
      name: "a list of successes with one failure",
      failedWrites: ["/w/a.ts", "/w/b.ts"],
      finalText: "Results:\n- a.ts is written\n- b.ts was refused",
      expected: footer("`/w/a.ts`"),
    },
    {
      name: "a path twice",
      failedWrites: ["a`b", "a`b"],
      finalText: "",
      expected: footer("`a'b`"),
    },
    {
      name: "more than ten",
      failedWrites: Array.from({ length: 12 }, (_, index) => `f${index}`),
      finalText: "",
      expected: footer("`f0`, `f1`, `f2`, `f3`, `f4`, `f5`, `f6`, `f7`, `f8`, `f9` and 2 more"),
    },
  ])("$name", ({ failedWrites, finalText, expected }) => {
    expect(mutationFooter({ failedWrites, finalText })).toBe(expected)
  })
})

describe("why a turn ended", () => {
  test.each([
    ["", "text_response(finish_reason=stop)", ""],
    ["Yes", "text_response(finish_reason=stop)", ""],
    ["", "interrupted_by_user", ""],
    ["", "interrupted_during_api_call", ""],
    ["done", "fallback_prior_turn_content", ""],
    ["", "plan_ready", ""],
    [
      "The file",
      "text_response(finish_reason=length)",
      "The turn ended early: the reply reached the output limit of the model (text_response(finish_reason=length)).",
    ],
    [
      "",
      "empty_response_exhausted",
      "The turn ended early: the model sent several empty replies in a row (empty_response_exhausted).",
    ],
    [
      "I am",
      "max_iterations_reached(90/90)",
      "The turn ended early: it reached the limit of tool calls for one turn; type “continue” to resume (max_iterations_reached(90/90)).",
    ],
    ["", "made_up_later", "The turn ended early: an unexpected error stopped it (made_up_later)."],
    ["Finished it.", "guardrail_halt", ""],
    ["This sentence has no end but it is long", "guardrail_halt", ""],
    [
      "x".repeat(24),
      "guardrail_halt",
      "The turn ended early: the same step kept failing, so it was stopped (guardrail_halt).",
    ],
    ["x".repeat(25), "guardrail_halt", ""],
  ])("%j after %s", (finalText, exitReason, expected) => {
    expect(completionExplainer({ finalText, exitReason })).toBe(expected)
  })
})
