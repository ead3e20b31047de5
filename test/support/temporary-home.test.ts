import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "./temporary-home.ts"

test("a home has the requested files, a working directory and a clean environment", async () => {
  process.env["HERMES_TEST_LEAK"] = "secret"
  await using home = await temporaryHome({
    config: "model: m\n",
    env: { TERM: "xterm", OPENAI_API_KEY: "test-key" },
    files: { "skills/a/SKILL.md": "text" },
    workFiles: { "src/a.txt": "a" },
  })
  delete process.env["HERMES_TEST_LEAK"]
  const { PATH, TMPDIR, NODE_COMPILE_CACHE: _cache, ...env } = home.env
  expect(env).toEqual({
    HOME: home.userHome,
    HERMES_HOME: home.path,
    TERM: "xterm",
    HERMES_TUI: "0",
    LANG: "C.UTF-8",
    TZ: "UTC",
    OPENAI_API_KEY: "test-key",
  })
  expect(PATH!.startsWith(dirname(process.execPath))).toBe(true)
  expect((await stat(TMPDIR!)).isDirectory()).toBe(true)
  expect(home.path).toBe(join(home.userHome, ".hermes"))
  expect((await readdir(home.path, { recursive: true })).sort()).toEqual([
    "config.yaml",
    "skills",
    "skills/a",
    "skills/a/SKILL.md",
  ])
  expect(await readFile(join(home.path, "config.yaml"), "utf8")).toBe("model: m\n")
  expect(await readdir(home.workdir)).toEqual(["src"])
})

test("disposing deletes the home, including read-only directories", async () => {
  const home = await temporaryHome()
  const locked = join(home.path, "locked")
  await mkdir(locked)
  await writeFile(join(locked, "file"), "x")
  await chmod(locked, 0o500)
  await home[Symbol.asyncDispose]()
  await expect(stat(dirname(home.userHome))).rejects.toThrow("ENOENT")
})
