import { expect, test } from "vitest"

import { textColumns } from "../terminal/text-width.ts"
import { TOOL_MANIFEST } from "./manifest.generated.ts"

test("every built-in tool has an emoji and a verb that fit into its line", () => {
  for (const { name, marks } of Object.values(TOOL_MANIFEST)) {
    const { emoji = "", verb = "" } = marks.label ?? {}
    expect([name, textColumns(emoji), verb !== "" && textColumns(verb) <= 9]).toEqual([name, 2, true])
  }
})
