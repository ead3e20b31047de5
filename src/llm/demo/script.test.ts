import { describe, expect, test } from "vitest"

import { parseDemoScript } from "./script.ts"

describe("parseDemoScript", () => {
  test("reads every field", () => {
    const step = {
      say: "Hello",
      think: "Hm",
      call: { tool: "read_file", args: { path: "a" } },
      fault: "disconnect",
      finish: "length",
      wait_ms: 5,
    }
    expect(parseDemoScript([step, { call: [{ tool: "a" }, { tool: "b", args: { n: 1 } }] }])).toEqual({
      ok: true,
      value: [
        {
          say: "Hello",
          think: "Hm",
          calls: [{ tool: "read_file", args: { path: "a" } }],
          fault: "disconnect",
          finish: "length",
          waitMs: 5,
        },
        {
          say: "",
          think: "",
          calls: [
            { tool: "a", args: {} },
            { tool: "b", args: { n: 1 } },
          ],
        },
      ],
    })
  })

  test.each([
    [undefined, "it must be a list of steps"],
    [{ say: "x" }, "it must be a list of steps"],
    [[], "it has no steps"],
    [["x"], "step 1 must be an object with say, think, call, fault, finish or wait_ms"],
    [
      [{ say: "x" }, { sey: "y" }],
      'step 2 has an unknown field "sey"; the known fields are say, think, call, fault, finish, wait_ms',
    ],
    [[{ say: 1 }], "step 1 needs text in say"],
    [[{ say: "x", think: [] }], "step 1 needs text in think"],
    [[{ call: "ls" }], "step 1 needs a call like { tool: read_file, args: { path: a.txt } }, or a list of them"],
    [
      [{ call: { tool: "a", args: "b" } }],
      "step 1 needs a call like { tool: read_file, args: { path: a.txt } }, or a list of them",
    ],
    [
      [{ say: "x", fault: "fire" }],
      "step 1 has an unknown fault; the known faults are rate-limit, overflow, malformed-json, disconnect, empty",
    ],
    [
      [{ say: "x", finish: "end" }],
      "step 1 has an unknown finish; the known values are stop, tool_calls, length, content_filter, incomplete",
    ],
    [[{ say: "x", wait_ms: -1 }], "step 1 needs a number of milliseconds in wait_ms"],
    [[{}], "step 1 needs say or call; use fault: empty for a reply without either"],
    [[{ fault: "malformed-json", say: "x" }], "step 1 needs a call whose JSON can be malformed"],
    [[{ fault: "disconnect" }], "step 1 needs say or call, so that there is something to truncate"],
  ])("%j is rejected", (value, error) => {
    expect(parseDemoScript(value)).toEqual({ ok: false, error })
  })

  test.each([[[{ fault: "empty" }]], [[{ fault: "overflow" }]]])("%j needs neither say nor call", (value) => {
    expect(parseDemoScript(value)).toMatchObject({ ok: true })
  })
})
