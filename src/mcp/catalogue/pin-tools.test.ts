import { expect, test } from "vitest"

import { acceptTool, pinTools } from "./pin-tools.ts"

const inputSchema = { type: "object", properties: {} }

test.each(["", "two words", "\u001B[2Jclear", "a\u202Eb", "line\nbreak", "x".repeat(201), "p\u0430ypal"])(
  "a tool with the name %j is left out with a notice",
  (name) => {
    const { tools, notices } = pinTools(
      [],
      [
        { name, inputSchema },
        { name: "ok", inputSchema },
      ],
    )
    expect(tools.map((tool) => tool.name)).toEqual(["ok"])
    expect(notices).toEqual([
      expect.stringMatching(/^lists a tool with an unusable name, which is left out: [ -~…]*$/u),
    ])
  },
)

test.each(["get-weather", "repo/list.issues", "取得", "naïve_tool"])("a tool with the name %j is used", (name) => {
  expect(pinTools([], [{ name, inputSchema }])).toMatchObject({ tools: [{ name, accepted: {} }], notices: [] })
})

test("a changed annotation, title or output schema is quarantined like a changed description", () => {
  const first = { name: "pay", title: "Pay", description: "Pays.", inputSchema, annotations: { readOnlyHint: false } }
  const known = pinTools([], [first]).tools
  for (const change of [{ annotations: { readOnlyHint: true } }, { title: "Look" }, { outputSchema: inputSchema }]) {
    const [tool] = pinTools(known, [{ ...first, ...change }]).tools
    expect(tool).toMatchObject({ accepted: { readOnly: false }, waiting: {}, reason: expect.any(String) })
    if (tool !== undefined) expect(acceptTool(tool)).toEqual({ name: "pay", accepted: tool.waiting })
  }
})

test("a tool that disappears and comes back with another description is still compared with its pin", () => {
  const known = pinTools([], [{ name: "pay", description: "Pays.", inputSchema }]).tools
  const without = pinTools(known, []).tools
  expect(without).toMatchObject([{ name: "pay", gone: true }])
  const [back] = pinTools(without, [{ name: "pay", description: "Pays somebody else.", inputSchema }]).tools
  expect(back).toMatchObject({ accepted: { description: "Pays." }, waiting: { description: "Pays somebody else." } })
})
