import { chmod, readdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, repeat, says } from "../support/model-server/turn.ts"
import { seededRandom } from "../support/seeded-random.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { hermes, settingsFor } from "./hermes-process.ts"

/** Removes the setting that tests use to share one code cache. */
function withDefaultCodeCache(home: TemporaryHome): TemporaryHome {
  const { NODE_COMPILE_CACHE: _shared, ...env } = home.env
  return { ...home, env }
}

const codeIn = (home: TemporaryHome): string => join(home.path, "cache", "code")

test("caches compiled code in the home, readable by its owner only, and replaces damaged files", async () => {
  await using model = await startModelServer([repeat(says("Hello."))])
  await using made = await temporaryHome({ config: settingsFor(model) })
  const home = withDefaultCodeCache(made)
  const ask = async (): Promise<string> => (await hermes(home, ["-z", "hi"], { stdin: "inherit-null" })).stdout
  expect(await ask()).toBe("Hello.\n")
  const kept = await readdir(codeIn(home))
  const expected = ["main", "settings", "start", "store", "talk"]
  expect(expected.filter((chunk) => kept.some((name) => name.startsWith(`${chunk}-`)))).toEqual(expected)
  const modes = await Promise.all(
    [".", ...kept].map(async (name) => (await stat(join(codeIn(home), name))).mode & 0o777),
  )
  expect(new Set(modes)).toEqual(new Set([0o700, 0o600]))

  for (const name of kept) await writeFile(join(codeIn(home), name), "rubbish")
  expect(await ask()).toBe("Hello.\n")
  const talk = kept.find((name) => name.startsWith("talk-")) ?? ""
  expect((await stat(join(codeIn(home), talk))).size).toBeGreaterThan(100_000)
})

test("no damage to a cache file keeps Hermes from starting", async () => {
  await using model = await startModelServer([repeat(says("Hello."))])
  await using made = await temporaryHome({ config: settingsFor(model) })
  const home = withDefaultCodeCache(made)
  const ask = async () => {
    const { code, stdout } = await hermes(home, ["-z", "hi"], { stdin: "inherit-null" })
    return [code, stdout]
  }
  await ask()
  const random = seededRandom(20_261_115)
  const kept = (await readdir(join(home.path, "cache"), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
  expect(kept.length).toBeGreaterThan(5)
  for (const path of kept) {
    const bytes = await readFile(path)
    const flipped = Buffer.from(bytes)
    for (let flips = 0; flips < 8; flips += 1) {
      const index = Math.floor(random() * flipped.length)
      flipped[index] = (flipped[index] ?? 0) ^ (1 << Math.floor(random() * 8))
    }
    for (const damaged of [
      flipped,
      bytes.subarray(0, Math.floor(bytes.length * random())),
      Buffer.alloc(bytes.length),
    ]) {
      await writeFile(path, damaged)
      expect([path, ...(await ask())]).toEqual([path, 0, "Hello.\n"])
    }
  }
})

test("works without a cache: when it is disabled and when its directory cannot be created", async () => {
  await using model = await startModelServer([repeat(says("Hello."))])
  await using made = await temporaryHome({ config: settingsFor(model) })
  const home = withDefaultCodeCache(made)
  const off = { env: { NODE_DISABLE_COMPILE_CACHE: "1" }, stdin: "inherit-null" } as const
  expect((await hermes(home, ["-z", "hi"], off)).stdout).toBe("Hello.\n")
  await expect(readdir(codeIn(home))).rejects.toThrow("ENOENT")
  await writeFile(codeIn(home), "in the way")
  expect((await hermes(home, ["-z", "hi"], { stdin: "inherit-null" })).stdout).toBe("Hello.\n")
})

test("--version does not create a home", async () => {
  await using made = await temporaryHome()
  const home = withDefaultCodeCache(made)
  await rm(home.path, { recursive: true })
  expect((await hermes(home, ["--version"], { stdin: "inherit-null" })).code).toBe(0)
  await expect(readdir(home.path)).rejects.toThrow("ENOENT")
})

test("tools cannot write to the code cache", async () => {
  await using model = await startModelServer([
    callsTool("write_file", { path: "~/.hermes/cache/code/evil.js", content: "x" }),
    callsTool("terminal", {
      command: "mkdir -p ~/.hermes/cache/code; echo x > ~/.hermes/cache/code/evil.js; echo done",
    }),
    says("Tried."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await chmod(home.path, 0o700)
  expect((await hermes(home, ["-z", "write there", "--yolo"], { stdin: "inherit-null" })).stdout).toMatch(/^Tried/u)
  expect(await readdir(codeIn(home)).catch(() => [])).not.toContain("evil.js")
})
