import { expect, test } from "vitest"

import type { ToolEnd } from "../../protocol/events.ts"
import { toolEndLines } from "./tool-lines.ts"

const END: ToolEnd = {
  type: "tool-end",
  call: { id: "c", name: "patch", args: {} },
  outcome: "ok",
  durationMs: 10,
  summary: "changed a.ts",
  truncated: false,
}
const PLAIN = { columns: 40, color: false, preview: "" }

test("a diff is shown with colours, cut to the window and bounded", () => {
  const diff = ["--- a/a.ts", "+++ b/a.ts", "@@ -1 +1 @@", "-old\u001B[2J", `+${"日".repeat(40)}`, " same"].join("\n")
  expect(toolEndLines({ ...END, diff }, PLAIN)).toEqual([
    "  ✓ patch: changed a.ts",
    "    --- a/a.ts",
    "    +++ b/a.ts",
    "    @@ -1 +1 @@",
    "    -old",
    `    +${"日".repeat(17)}`,
    "     same",
  ])
  expect(toolEndLines({ ...END, diff }, { ...PLAIN, color: true }).slice(3, 5)).toEqual([
    "\u001B[36m    @@ -1 +1 @@\u001B[0m",
    "\u001B[31m    -old\u001B[0m",
  ])
  const long = Array.from({ length: 50 }, (_, index) => `+${index}`).join("\n")
  expect(toolEndLines({ ...END, diff: long }, PLAIN).slice(-2)).toEqual(["    +19", "    +30 more"])
})

test("a failed command shows the end of its output, a successful one does not", () => {
  const outputTail = Array.from({ length: 12 }, (_, index) => `line ${index}`).join("\n")
  const failed = toolEndLines({ ...END, exitCode: 1, summary: "exit code 1", outputTail }, PLAIN)
  expect([failed[0], failed.length, failed.at(-1)]).toEqual(["  ✗ patch: exit code 1", 11, "    line 11"])
  expect(toolEndLines({ ...END, exitCode: 0, outputTail }, PLAIN)).toHaveLength(1)
})

test("names the call among others", () => {
  expect(toolEndLines({ ...END, durationMs: 2500 }, { ...PLAIN, preview: "src/\na.ts" })).toEqual([
    "  ✓ patch src/ a.ts: changed a.ts (2.5 s)",
  ])
})
