import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"

import { expect, test } from "vitest"

test.each(["registry.ts", "definitions.ts", "toolsets.ts", "builtin-entries.ts"])(
  "%s is on the start path and loads no package",
  async (file) => {
    const reached = await reachedFrom(new URL(file, import.meta.url).href)
    expect([...reached].filter((specifier) => !specifier.startsWith("file:"))).toEqual([])
  },
)

test("a tool's own code does load the schema library, so the search above can find one", async () => {
  expect(await reachedFrom(new URL("define-tool.ts", import.meta.url).href)).toContain("zod")
})

/** Every file and package that importing `start` loads; type imports vanish before that. */
async function reachedFrom(start: string): Promise<ReadonlySet<string>> {
  const reached = new Set([start])
  for (const href of reached) {
    if (!href.startsWith("file:")) continue
    const source = await readFile(fileURLToPath(href), "utf8")
    for (const [, specifier = ""] of source.matchAll(/^import (?!type )[^"]*from "([^"]+)"$/gmu)) {
      if (specifier.startsWith("node:")) continue
      reached.add(specifier.startsWith(".") ? new URL(specifier, href).href : specifier)
    }
  }
  return reached
}
