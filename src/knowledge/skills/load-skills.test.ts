import { appendFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { spawnSync } from "node:child_process"

import { expect, test } from "vitest"

import { systemClock } from "../../base/clock.ts"
import { loadSkills } from "./load-skills.ts"
import { recordUsage } from "./skill-usage.ts"
import type { SkillRoot } from "./skill.ts"

function rootWith(files: Readonly<Record<string, string>>) {
  const directory = mkdtempSync(join(tmpdir(), "hermes-skills-"))
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(directory, name)), { recursive: true })
    writeFileSync(join(directory, name), text)
  }
  for (const [name, text] of Object.entries(files)) write(name, text)
  const root: SkillRoot = { path: join(directory, "skills"), kind: "home" }
  const snapshot = join(directory, "snapshot.json")
  return {
    directory,
    root,
    snapshot,
    write,
    names: async () => (await loadSkills([root], snapshot)).skills.map(({ name }) => name),
    [Symbol.dispose]: () => {
      rmSync(directory, { recursive: true })
    },
  }
}

const skill = (name: string): string => `---\nname: ${name}\ndescription: About ${name}\n---\nText\n`

test("the snapshot is used while nothing changes; any change is noticed", async () => {
  using home = rootWith({ "skills/a/SKILL.md": skill("a"), "skills/c/b/SKILL.md": skill("b") })
  expect(await home.names()).toEqual(["a", "b"])
  home.write("skills/c/d/SKILL.md", skill("d"))
  expect(await home.names()).toEqual(["a", "b", "d"])
  appendFileSync(join(home.root.path, "a/SKILL.md"), "more")
  home.write("skills/a/SKILL.md", skill("z"))
  utimesSync(join(home.root.path, "a/SKILL.md"), 1, 1)
  expect(await home.names()).toEqual(["b", "d", "z"])
  rmSync(join(home.root.path, "c"), { recursive: true })
  expect(await home.names()).toEqual(["z"])
  writeFileSync(home.snapshot, '{"version":1,"manifest":{"a/SKILL.md":[1,2]}}')
  expect(await home.names()).toEqual(["z"])
})

test("with an unchanged home no library is loaded, even after a skill was used", async () => {
  using home = rootWith({ "skills/a/SKILL.md": skill("a") })
  await home.names()
  await recordUsage(home.root.path, { name: "a", event: { kind: "viewed" }, clock: systemClock })
  const script = `
    import { registerHooks } from "node:module"
    const loaded = []
    registerHooks({ resolve: (specifier, context, next) => { loaded.push(specifier); return next(specifier, context) } })
    const { loadSkills } = await import(${JSON.stringify(join(import.meta.dirname, "load-skills.ts"))})
    const { skills } = await loadSkills([${JSON.stringify(home.root)}], ${JSON.stringify(home.snapshot)})
    process.stdout.write(JSON.stringify({ count: skills.length, scanned: loaded.some((one) => /scan-skills|yaml/.test(one)) }))`
  const { stdout } = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", script], { encoding: "utf8" })
  expect(JSON.parse(stdout)).toEqual({ count: 1, scanned: false })
})

test("a skill inside a support directory is data; hidden and excluded directories are not searched", async () => {
  using home = rootWith({
    "skills/a/SKILL.md": skill("a"),
    "skills/a/templates/t/SKILL.md": skill("template"),
    "skills/a/nested/SKILL.md": skill("nested"),
    "skills/.archive/x/SKILL.md": skill("archived"),
    "skills/node_modules/y/SKILL.md": skill("module"),
    "skills/references/r/SKILL.md": skill("category-called-references"),
  })
  expect(await home.names()).toEqual(["a", "category-called-references", "nested"])
})
