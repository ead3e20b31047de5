import { readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"

import { expect, test } from "vitest"

import { renderBundle } from "../../../scripts/generate-bundled-skills.ts"
import { bundledDirectories } from "./bundled-sync.ts"
import { checkSkillText } from "./check-skill.ts"
import { readFrontMatter } from "./front-matter.ts"
import { scanSkill } from "./guard/scan-skill.ts"

const BUNDLE = fileURLToPath(new URL("../../../skills", import.meta.url))
const directories = await bundledDirectories(BUNDLE)

/** The fields of the Agent Skills specification (agentskills.io); its validator refuses all others. */
const STANDARD_FIELDS = new Set(["name", "description", "license", "compatibility", "metadata", "allowed-tools"])

test("there are enough, among them those that other parts of Hermes load", () => {
  const names = directories.map((path) => basename(path))
  expect(names.length).toBeGreaterThanOrEqual(15)
  for (const needed of ["plan", "hermes-agent", "kanban-worker", "coding-agents", "diagrams", "documents"])
    expect(names).toContain(needed)
})

test.each(directories.map((path) => [basename(path), path]))("%s follows the standard and is safe", (name, path) => {
  const text = readFileSync(join(path, "SKILL.md"), "utf8")
  const { fields, body, problem } = readFrontMatter(text)
  expect(problem).toBeUndefined()
  expect(Object.keys(fields).filter((field) => !STANDARD_FIELDS.has(field))).toEqual([])
  expect(name).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)*$/u)
  expect(checkSkillText(text, name)).toMatchObject({ ok: true })
  // The specification recommends less than 5000 tokens.
  expect(body.length).toBeLessThan(20_000)
  expect(scanSkill(path, () => [])).toMatchObject({ verdict: "safe" })
})

test("the generated index is up to date", async () => {
  const generated = readFileSync(fileURLToPath(new URL("bundled.generated.ts", import.meta.url)), "utf8")
  expect(generated).toBe(await renderBundle(BUNDLE))
})
