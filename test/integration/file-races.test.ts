import { spawn, spawnSync } from "node:child_process"
import { lstatSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"

import { runBatch } from "../../src/agent/dispatch/batch.ts"
import { contentText } from "../../src/protocol/message.ts"
import { builtinEntries } from "../../src/toolkit/builtin-entries.ts"
import { BUILTIN_TOOLS } from "../../src/tools/builtins.ts"
import { TOOL_MANIFEST } from "../../src/tools/manifest.generated.ts"
import { createDispatchHarness, toolCall } from "../fixtures/agent/dispatch-harness.ts"
import type { DispatchHarness } from "../fixtures/agent/dispatch-harness.ts"
import { NOT_LINUX, titleWithReason } from "../support/skip-reason.ts"

/** Exchanges the names of each pair as fast as it can, with renameat2 and RENAME_EXCHANGE. Prints a line when it has begun. */
const SWAPPER = `
import ctypes, os, sys
parent = os.getppid()
libc = ctypes.CDLL(None)
pairs = [(a.encode(), b.encode()) for a, b in zip(sys.argv[1::2], sys.argv[2::2])]
if libc.renameat2(-100, pairs[0][0], -100, pairs[0][1], 2) != 0: sys.exit(1)
print("swapping", flush=True)
# A test run that is killed cannot stop it.
while os.getppid() == parent:
    for a, b in pairs: libc.renameat2(-100, a, -100, b, 2)
`

const TRIES = 500
const SECRET = "SECRET-OF-THE-USER"

const noSwapper =
  NOT_LINUX ?? (spawnSync("python3", ["-c", "import ctypes"]).status === 0 ? undefined : "python3 is not installed")

test.skipIf(noSwapper !== undefined)(
  titleWithReason("names that are swapped in a tight loop never lead a file tool to another file", noSwapper),
  { timeout: 180_000 },
  async () => {
    await using harness = await createDispatchHarness([], {
      profile: "full-auto",
      more: { tools: new Map(builtinEntries(TOOL_MANIFEST, BUILTIN_TOOLS).map((entry) => [entry.name, entry])) },
    })
    const targets = plantTargets(harness)
    const before = targets.map((path) => readFileSync(path, "utf8"))
    const races = plantRaces(harness, targets)
    await using _swapper = await startSwapper(races.flatMap(({ name, link }) => [name, link]))
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      const race = races[attempt % races.length]
      if (race === undefined) continue
      for (const [tool, args] of callsOn(race.accessed, attempt)) {
        restoreRace(race)
        await Array.fromAsync(runBatch([toolCall(`${attempt}`, tool, args)], harness.session, harness.run))
      }
    }
    const results = harness.recorded.map(({ content }) => contentText(content))
    expect(results.filter((text) => text.includes(SECRET))).toEqual([])
    expect(targets.map((path) => readFileSync(path, "utf8"))).toEqual(before)
    // The loop did not only meet refusals.
    expect(results.some((text) => text.includes("harmless"))).toBe(true)
    expect(results.some((text) => text.includes("bytes_written"))).toBe(true)
  },
)

function callsOn(name: string, attempt: number): readonly (readonly [string, Readonly<Record<string, unknown>>])[] {
  const text = `harmless ${attempt}\n`
  const moved = `*** Begin Patch\n*** Move File: ${name} -> moved-${attempt}\n*** End Patch`
  const removed = `*** Begin Patch\n*** Delete File: moved-${attempt}\n*** End Patch`
  return [
    ["read_file", { path: name, offset: 1, limit: 10 + attempt }],
    ["write_file", { path: name, content: text }],
    ["patch", { path: name, old_string: "harmless", new_string: "harmless" + "x".repeat(attempt % 3) }],
    ["search_files", { pattern: `${SECRET}|harmless`, path: attempt % 2 === 0 ? "." : name, limit: 50 + attempt }],
    ["patch", { mode: "patch", patch: moved }],
    ["patch", { mode: "patch", patch: removed }],
    ["write_file", { path: name, content: text }],
  ]
}

/** A private key, the file that lets others log in, and Hermes' own settings. */
function plantTargets({ home }: DispatchHarness): readonly string[] {
  const targets = [
    join(home.userHome, ".ssh/id_ed25519"),
    join(home.userHome, ".ssh/authorized_keys"),
    join(home.path, "config.yaml"),
  ]
  mkdirSync(join(home.userHome, ".ssh"))
  // The settings may be read, but not written.
  for (const path of targets) writeFileSync(path, path.endsWith(".yaml") ? "harmless: true\n" : `harmless: ${SECRET}\n`)
  return targets
}

interface Race {
  /** What the call names: a file, or a file in a swapped directory. */
  readonly accessed: string
  readonly name: string
  readonly link: string
  readonly target: string
}

/** A file and a link to each target, and a directory with a link to the directory of the keys. */
function plantRaces({ home }: DispatchHarness, targets: readonly string[]): readonly Race[] {
  const at = (name: string): string => join(home.workdir, name)
  const races = targets.map((target, index): Race => {
    const name = at(`file-${index}`)
    return { accessed: name, name, link: at(`link-${index}`), target }
  })
  const directory = at("directory")
  mkdirSync(directory)
  const target = join(home.userHome, ".ssh")
  const all = [...races, { accessed: join(directory, "id_ed25519"), name: directory, link: at("linked"), target }]
  for (const { accessed, link, target: linked } of all) {
    writeFileSync(accessed, "harmless\n")
    symlinkSync(linked, link)
  }
  return all
}

/** A write may have replaced the link with a file, or a move have taken the file; the attacker creates both again. */
function restoreRace({ accessed, name, link, target }: Race): void {
  if (accessed !== name) return
  const links = [name, link].filter(isLink).length
  if (links === 1) return
  if (links === 0) symlinkSync(target, `${link}.new`)
  else writeFileSync(`${link}.new`, "harmless\n")
  renameSync(`${link}.new`, link)
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
}

async function startSwapper(paths: readonly string[]): Promise<AsyncDisposable> {
  const child = spawn("python3", ["-c", SWAPPER, ...paths], { stdio: ["ignore", "pipe", "inherit"] })
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  await Promise.race([new Promise((resolve) => child.stdout.once("data", resolve)), ended])
  return {
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL")
      await ended
    },
  }
}
