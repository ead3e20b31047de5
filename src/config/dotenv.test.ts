import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryHome, type TemporaryHome } from "../../test/support/temporary-home.ts"
import { loadDotenv, reloadDotenv, removeSecret, storeSecret } from "./dotenv.ts"
import { assignment, parseDotenv, renderDotenv } from "./dotenv-lines.ts"
import { environmentFrom } from "./environment.ts"
import { resolveHome } from "./home.ts"
import { fc } from "../../test/support/property.ts"

function context(fixture: TemporaryHome, variables: Record<string, string> = {}) {
  const environment = environmentFrom({ ...fixture.env, ...variables })
  return { home: resolveHome(environment), environment }
}

test.each([
  ["A=1", { A: "1" }],
  ["export A=1", { A: "1" }],
  ["A = spaced ", { A: "spaced" }],
  ['A="quoted # text"', { A: "quoted # text" }],
  ["A='x'", { A: "x" }],
  ["A=\"'nested'\"", { A: "'nested'" }],
  ["A=b=c", { A: "b=c" }],
  ["A=", { A: "" }],
  ["# A=1", {}],
  ["not an assignment", {}],
  ["1A=x", {}],
  ["\uFEFFA=1", { A: "1" }],
  ["A=1\r\nB=2\r\n", { A: "1", B: "2" }],
  ["A=1\nA=2", { A: "2" }],
  ["A=1\0", { A: "1" }],
  ["ANTHROPIC_API_KEY=sk-1OPENAI_BASE_URL=http://x", { ANTHROPIC_API_KEY: "sk-1", OPENAI_BASE_URL: "http://x" }],
  ["GLM_API_KEY=abc", { GLM_API_KEY: "abc" }],
  ["OPENAI_API_KEY=aGLM_API_KEY=b", { OPENAI_API_KEY: "a", GLM_API_KEY: "b" }],
  ["FOO=1BAR=2", { FOO: "1BAR=2" }],
  ["OPENAI_API_KEY=sk-\u200b1\u00e9", { OPENAI_API_KEY: "sk-1" }],
  ["GREETING=\u00e9", { GREETING: "\u00e9" }],
])("%j", async (text, expected) => {
  await using fixture = await temporaryHome({ files: { ".env": text } })
  const { home } = context(fixture)
  expect(loadDotenv(home, environmentFrom({})).environment.toObject()).toEqual(expected)
})

test("bytes that are not UTF-8 do not lose the other lines", async () => {
  await using fixture = await temporaryHome()
  writeFileSync(join(fixture.path, ".env"), Buffer.from("A=1\nB=\xff\xfe\nC=3\n", "latin1"))
  const { environment } = loadDotenv(context(fixture).home, environmentFrom({}))
  expect([environment.get("A"), environment.get("C")]).toEqual(["1", "3"])
})

test("the file overrides inherited variables, a development file only fills gaps", async () => {
  await using fixture = await temporaryHome({
    files: { ".env": "A=file\n" },
    workFiles: { ".env": "A=dev\nB=dev\nC=dev\n" },
  })
  const inherited = environmentFrom({ A: "shell", B: "shell" })
  const loaded = loadDotenv(context(fixture).home, inherited, { developmentFile: join(fixture.workdir, ".env") })
  expect(loaded.environment.toObject()).toEqual({ A: "file", B: "shell", C: "dev" })
})

test("variables for the location of Hermes and for the loader are ignored with a warning that names the line", async () => {
  const names = [
    "HERMES_HOME",
    "HERMES_PROFILE",
    "HERMES_CONFIG",
    "HERMES_ENV",
    "LD_PRELOAD",
    "DYLD_INSERT_LIBRARIES",
    "NODE_OPTIONS",
  ]
  await using fixture = await temporaryHome({
    files: { ".env": `EDITOR=vi\n${names.map((name) => `${name}=x\n`).join("")}` },
  })
  const loaded = loadDotenv(context(fixture).home, environmentFrom({}))
  expect(loaded.environment.toObject()).toEqual({ EDITOR: "vi" })
  expect(loaded.warnings.map((warning) => warning.slice(0, 6))).toEqual(names.map((_, index) => `line ${index + 2}`))
})

test("an unreadable file is a warning", async () => {
  await using fixture = await temporaryHome()
  mkdirSync(join(fixture.path, ".env"))
  expect(loadDotenv(context(fixture).home, environmentFrom({})).warnings).toEqual([
    "cannot read ~/.hermes/.env: it is not a regular file; move it away",
  ])
})

test("storing keeps comments, order and other lines, and reads back the same", async () => {
  await using fixture = await temporaryHome({
    files: { ".env": "# keys\nOPENAI_API_KEY=old\n\nOTHER=1\nOPENAI_API_KEY=again\n" },
  })
  const values = ["sk-1", "with space", "#hash", "a # b", "'single'", '"double"', " edge ", "x=y", "it's", "$HOME"]
  for (const value of values) {
    expect(await storeSecret({ ...context(fixture), name: "OPENAI_API_KEY", value })).toEqual({ ok: true, value: [] })
    expect(loadDotenv(context(fixture).home, environmentFrom({})).environment.get("OPENAI_API_KEY")).toBe(value)
  }
  await storeSecret({ ...context(fixture), name: "OPENAI_API_KEY", value: "new\nline" })
  expect(readFileSync(join(fixture.path, ".env"), "utf8")).toBe("# keys\nOPENAI_API_KEY=newline\n\nOTHER=1\n")
})

test("a key is stored without non-ASCII characters, which a warning names", async () => {
  await using fixture = await temporaryHome()
  const stored = await storeSecret({ ...context(fixture), name: "XAI_API_KEY", value: "k\u00e9\u200b\u{1F600}\u00fc" })
  expect(stored).toEqual({ ok: true, value: [expect.stringContaining("(U+00E9, U+200B, U+1F600)")] })
  expect(readFileSync(join(fixture.path, ".env"), "utf8")).toBe("XAI_API_KEY=k\n")
})

test.each([
  ..."LD_PRELOAD LD_AUDIT DYLD_LIBRARY_PATH PYTHONPATH NODE_OPTIONS NODE_PATH PATH SHELL EDITOR GIT_SSH_COMMAND HERMES_HOME".split(
    " ",
  ),
  "no-name",
  "1X",
  "A=B",
])("%s cannot be stored", async (name) => {
  await using fixture = await temporaryHome()
  expect(await storeSecret({ ...context(fixture), name, value: "x" })).toMatchObject({
    ok: false,
    error: { kind: "invalid" },
  })
})

test("the file is private from the first byte, an existing mode is kept, a managed home refuses", async () => {
  await using fixture = await temporaryHome()
  const path = join(fixture.path, ".env")
  const previous = process.umask(0)
  try {
    await storeSecret({ ...context(fixture), name: "HERMES_X_TOKEN", value: "1" })
  } finally {
    process.umask(previous)
  }
  const fresh = statSync(path).mode & 0o777
  chmodSync(path, 0o640)
  await storeSecret({ ...context(fixture), name: "B", value: "1" })
  expect([fresh, statSync(path).mode & 0o777]).toEqual([0o600, 0o640])
  const managed = await storeSecret({ ...context(fixture, { HERMES_MANAGED: "nix" }), name: "C", value: "1" })
  expect(managed).toEqual({ ok: false, error: { kind: "failed", message: expect.stringContaining("nix") } })
})

test("removing returns whether the variable was set", async () => {
  await using fixture = await temporaryHome({ files: { ".env": "A=1\nB=2\n" } })
  expect(await removeSecret({ ...context(fixture), name: "A" })).toEqual({ ok: true, value: true })
  expect(await removeSecret({ ...context(fixture), name: "A" })).toEqual({ ok: true, value: false })
  expect(readFileSync(join(fixture.path, ".env"), "utf8")).toBe("B=2\n")
})

test("reloading sets new and changed keys and unsets known keys that were removed", async () => {
  await using fixture = await temporaryHome({ files: { ".env": "OPENAI_API_KEY=1\nXAI_API_KEY=2\nMINE=3\n" } })
  const { home } = context(fixture)
  const first = loadDotenv(home, environmentFrom({ GROQ_API_KEY: "from-shell" }))
  writeFileSync(join(fixture.path, ".env"), "XAI_API_KEY=22\nNEW=4\n")
  const second = reloadDotenv(home, first.environment, first.names)
  expect([second.environment.toObject(), second.changed]).toEqual([
    { GROQ_API_KEY: "from-shell", XAI_API_KEY: "22", MINE: "3", NEW: "4" },
    3,
  ])
})

test("a parsed file is rendered unchanged", () => {
  const text = "# a\n\nexport A = 'x' \nodd line\n"
  expect(renderDotenv(parseDotenv(Buffer.from(text)))).toBe(text)
})

test("any value without a line break is read back as it was stored", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (value) => {
      fc.pre(!/[\r\n\0]/.test(value))
      const [line] = parseDotenv(Buffer.from(renderDotenv([assignment("NAME", value)])))
      expect(line).toMatchObject({ kind: "assignment", name: "NAME", value })
    }),
    { examples: [["\u2028"], ["a\u2029b"], ["\u0085"]] },
  )
})
