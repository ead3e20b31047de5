import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { execFileSync } from "node:child_process"
import { dirname, join } from "node:path"

import fc from "fast-check"
import { describe, expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import type { TemporaryHome } from "../../../test/support/temporary-home.ts"
import type { Result } from "../../base/result.ts"
import { startRefusal } from "../../config/config-problem.ts"
import { editConfig } from "../../config/edit-config.ts"
import { environmentFrom } from "../../config/environment.ts"
import { resolveHome } from "../../config/home.ts"
import { loadConfig } from "../../config/load-config.ts"
import { loadPermissionPolicy } from "./load-permission-policy.ts"
import type { LoadedPolicy } from "./load-permission-policy.ts"

/** What a start would use, or why there is no start. With unreadable settings every call is denied. */
type Start =
  | { readonly kind: "refused"; readonly why: string }
  | { readonly kind: "open"; readonly limits: readonly string[] }

async function start(fixture: TemporaryHome): Promise<Start> {
  const environment = environmentFrom(fixture.env)
  const home = resolveHome(environment)
  const config = await loadConfig({ home, environment })
  const refusal = startRefusal(config.problems)
  if (refusal !== undefined) return { kind: "refused", why: refusal }
  const loaded = await loadPermissionPolicy({ config, home, workspaceRoot: fixture.workdir, platform: "cli" })
  if (!loaded.ok) return { kind: "refused", why: loaded.error }
  const { unreadable } = loaded.value.policy
  if (unreadable !== undefined) return { kind: "refused", why: unreadable }
  const sandbox = [config.get("terminal.sandbox"), String(config.get("terminal.sandbox_network"))]
  return { kind: "open", limits: [...limitsOf(loaded), ...sandbox] }
}

function limitsOf(loaded: Result<LoadedPolicy>): readonly string[] {
  if (!loaded.ok) return []
  const { profile, policy } = loaded.value
  const definition = policy.profiles.get(profile)
  const rules = [...policy.layers.flatMap((layer) => layer.rules), ...(definition?.rules ?? [])]
  return [
    `${profile} ${definition?.default ?? ""}`,
    ...rules.flatMap(({ decision, pattern }) => (decision === "allow" ? [] : [`${decision} ${pattern.text}`])),
  ]
}

const FILES = {
  "config.yaml": `model:
  default: test-model
terminal:
  sandbox: required
  sandbox_network: list
approvals:
  rules:
    - pattern: terminal:git *
      decision: allow
    - pattern: network
      decision: deny
  profiles:
    careful:
      tool_rules:
        - {pattern: "terminal:npm *", decision: ask}
      default: ask
  profile: careful
`,
  "permissions.yaml": "terminal:git push*: deny\nfile:write:src/**: allow\nnetwork: ask\nterminal:rm *: deny\n",
  ".hermes/permissions.yaml": "terminal:docker *: deny\nfile:write:dist/**: ask\n",
} as const
type FileName = keyof typeof FILES
const NAMES: readonly FileName[] = ["config.yaml", "permissions.yaml", ".hermes/permissions.yaml"]

async function homeWithRules(): Promise<TemporaryHome> {
  return await temporaryHome({
    config: FILES["config.yaml"],
    files: { "permissions.yaml": FILES["permissions.yaml"] },
    workFiles: { ".hermes/permissions.yaml": FILES[".hermes/permissions.yaml"] },
  })
}

function pathOf(fixture: TemporaryHome, name: FileName): string {
  return join(name.startsWith(".hermes") ? fixture.workdir : fixture.path, name)
}

const ALL_LIMITS = [
  "careful ask",
  "deny terminal:docker *",
  "ask file:write:dist/**",
  "deny network",
  "deny terminal:git push*",
  "ask network",
  "deny terminal:rm *",
  "ask terminal:npm *",
  "required",
  "list",
]

test("complete files have every limit", async () => {
  await using fixture = await homeWithRules()
  expect(await start(fixture)).toEqual({ kind: "open", limits: ALL_LIMITS })
})

/** Changes that no user makes on purpose. */
const DAMAGE: readonly (readonly [string, (path: string, text: string) => void])[] = [
  ["empty", (path) => writeFileSync(path, "")],
  ["only blank lines", (path) => writeFileSync(path, "\n \n\n")],
  ["only a byte order mark", (path) => writeFileSync(path, "\uFEFF")],
  ["zero bytes", (path, text) => writeFileSync(path, "\0".repeat(text.length))],
  ["zero bytes at the end", (path, text) => writeFileSync(path, `${text.slice(0, 40)}${"\0".repeat(50)}`)],
  ["a zero byte in a pattern", (path, text) => writeFileSync(path, text.replace(/:(?=[a-z]+ \*|git|rm)/u, ":\0"))],
  ["not UTF-8", (path, text) => writeFileSync(path, Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0xfe])]))],
  ["UTF-16", (path, text) => writeFileSync(path, Buffer.from(`\uFEFF${text}`, "utf16le"))],
  ["a list", (path) => writeFileSync(path, "- a\n- b\n")],
  ["a single word", (path) => writeFileSync(path, "deny\n")],
  ["a duplicate key", (path, text) => writeFileSync(path, `${text}${text}`)],
  [
    "a directory",
    (path) => {
      rmSync(path)
      mkdirSync(path)
    },
  ],
  [
    "a dangling link",
    (path) => {
      rmSync(path)
      symlinkSync("/nonexistent/rules.yaml", path)
    },
  ],
  [
    "a link to itself",
    (path) => {
      rmSync(path)
      symlinkSync(path, path)
    },
  ],
  [
    "a link to a device",
    (path) => {
      rmSync(path)
      symlinkSync("/dev/zero", path)
    },
  ],
  [
    "a named pipe",
    (path) => {
      rmSync(path)
      execFileSync("mkfifo", [path])
    },
  ],
  ["too large", (path, text) => writeFileSync(path, `${text}#${"x".repeat(2_100_000)}\n`)],
  ["one kind of decision misspelt", (path, text) => writeFileSync(path, text.replaceAll("deny", "dney"))],
]

describe.each(NAMES)("%s", (name) => {
  test.each(DAMAGE)("damaged (%s) is refused", async (_how, damage) => {
    await using fixture = await homeWithRules()
    await start(fixture)
    damage(pathOf(fixture, name), FILES[name])
    expect((await start(fixture)).kind).toBe("refused")
  })

  // Root may read every file, so the test uses another error that reading reports.
  test("a file that cannot be opened is refused", async () => {
    await using fixture = await homeWithRules()
    await start(fixture)
    rmSync(pathOf(fixture, name))
    symlinkSync(pathOf(fixture, name), pathOf(fixture, name))
    expect((await start(fixture)).kind).toBe("refused")
  })

  test("cut off at any byte is refused, or keeps every limit", async () => {
    await using fixture = await homeWithRules()
    await start(fixture)
    const path = pathOf(fixture, name)
    const bytes = Buffer.from(FILES[name])
    for (let length = 0; length < bytes.length; length += 1) {
      writeFileSync(path, bytes.subarray(0, length))
      const started = await start(fixture)
      if (started.kind === "open") expect([length, started.limits]).toEqual([length, ALL_LIMITS])
    }
  })

  test("with flipped bits and changed bytes it is refused, or has as many limits as before", async () => {
    await using fixture = await homeWithRules()
    await start(fixture)
    const path = pathOf(fixture, name)
    const bytes = Buffer.from(FILES[name])
    const flip = fc.record({ at: fc.nat({ max: bytes.length - 1 }), bit: fc.nat({ max: 7 }) })
    await fc.assert(
      fc.asyncProperty(flip, async ({ at, bit }) => {
        const flipped = Buffer.from(bytes)
        flipped[at] = (flipped[at] ?? 0) ^ (1 << bit)
        writeFileSync(path, flipped)
        const started = await start(fixture)
        // A complete file with a comment, or with another profile, says something else.
        if (started.kind === "refused" || flipped[at] === 0x23 || name === "config.yaml") return
        expect(started.limits).toHaveLength(ALL_LIMITS.length)
      }),
      { numRuns: 150 },
    )
  })

  test("with values of other types it is refused", async () => {
    await using fixture = await homeWithRules()
    await start(fixture)
    const path = pathOf(fixture, name)
    const decisions = [...FILES[name].matchAll(/deny|ask|required|list/gu)]
    for (const { index, 0: word } of decisions)
      for (const value of ["7", "[]", "{}", "yes and no", "''", "[deny]", "!!binary x", "2026-01-01"]) {
        writeFileSync(path, `${FILES[name].slice(0, index)}${value}${FILES[name].slice(index + word.length)}`)
        expect([word, value, (await start(fixture)).kind]).toEqual([word, value, "refused"])
      }
  })
})

describe("a file that is missing", () => {
  test.each(["config.yaml", "permissions.yaml"] as const)("%s is refused, until the user writes one", async (name) => {
    await using fixture = await homeWithRules()
    await start(fixture)
    const path = pathOf(fixture, name)
    rmSync(path)
    const missing = await start(fixture)
    expect(missing).toMatchObject({ kind: "refused", why: expect.stringContaining("the file is missing, and with it") })
    writeFileSync(path, "# nothing\n")
    expect((await start(fixture)).kind).toBe("open")
    rmSync(path)
    expect((await start(fixture)).kind).toBe("open")
  })

  test("the file of a workspace may be removed, as version control does", async () => {
    await using fixture = await homeWithRules()
    await start(fixture)
    rmSync(pathOf(fixture, ".hermes/permissions.yaml"))
    expect((await start(fixture)).kind).toBe("open")
    rmSync(dirname(pathOf(fixture, ".hermes/permissions.yaml")), { recursive: true })
    writeFileSync(dirname(pathOf(fixture, ".hermes/permissions.yaml")), "not a directory")
    expect((await start(fixture)).kind).toBe("refused")
  })

  test("a profile that was renamed or removed is refused", async () => {
    await using fixture = await homeWithRules()
    await start(fixture)
    writeFileSync(pathOf(fixture, "config.yaml"), FILES["config.yaml"].replace("careful:", "relaxed:"))
    expect(await start(fixture)).toMatchObject({ kind: "refused" })
  })
})

test("what the user changes with hermes config is never taken for damage", async () => {
  await using fixture = await homeWithRules()
  await start(fixture)
  const environment = environmentFrom(fixture.env)
  const context = { home: resolveHome(environment), environment }
  expect(await editConfig(context, [{ path: "approvals", remove: true }])).toMatchObject({ ok: true })
  expect(FILES["config.yaml"].startsWith(readFileSync(pathOf(fixture, "config.yaml"), "utf8"))).toBe(true)
  expect((await start(fixture)).kind).toBe("open")
})

test("a run that ignores the settings does not forget their restrictions", async () => {
  await using fixture = await homeWithRules()
  await start(fixture)
  await start({ ...fixture, env: { ...fixture.env, HERMES_IGNORE_USER_CONFIG: "1" } })
  const path = pathOf(fixture, "config.yaml")
  writeFileSync(path, FILES["config.yaml"].slice(0, FILES["config.yaml"].indexOf("approvals:")))
  expect((await start(fixture)).kind).toBe("refused")
})
