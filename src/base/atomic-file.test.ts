import { spawn } from "node:child_process"
import { once } from "node:events"
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { expect, test } from "vitest"
import { temporaryHome } from "../../test/support/temporary-home.ts"
import { writeFileAtomic } from "./atomic-file.ts"

const modeOf = (path: string) => statSync(path).mode & 0o777

test("a new file has mode 0600 or the given one, independent of the umask", async () => {
  await using fixture = await temporaryHome()
  const previous = process.umask(0)
  try {
    writeFileAtomic(join(fixture.workdir, "secret"), "x")
    writeFileAtomic(join(fixture.workdir, "script"), "x", { mode: 0o755 })
  } finally {
    process.umask(previous)
  }
  expect([modeOf(join(fixture.workdir, "secret")), modeOf(join(fixture.workdir, "script"))]).toEqual([0o600, 0o755])
})

test.each(["a".repeat(255), "é".repeat(127), "𝕏".repeat(63)])("a name of the maximum length (%#)", async (name) => {
  await using fixture = await temporaryHome()
  writeFileAtomic(join(fixture.workdir, name), "x")
  expect(readdirSync(fixture.workdir)).toEqual([name])
})

test("an existing file keeps its mode", async () => {
  await using fixture = await temporaryHome()
  const path = join(fixture.workdir, "shared")
  writeFileSync(path, "old")
  chmodSync(path, 0o640)
  writeFileAtomic(path, "new", { mode: 0o600 })
  expect([readFileSync(path, "utf8"), modeOf(path)]).toEqual(["new", 0o640])
})

test("a link stays a link and its target is replaced, even when it does not exist yet", async () => {
  await using fixture = await temporaryHome()
  mkdirSync(join(fixture.workdir, "real"))
  for (const name of ["there", "not-yet"]) {
    if (name === "there") writeFileSync(join(fixture.workdir, "real", name), "old")
    symlinkSync(join("real", name), join(fixture.workdir, name))
    symlinkSync(name, join(fixture.workdir, `link-to-${name}`))
    writeFileAtomic(join(fixture.workdir, `link-to-${name}`), "new")
    expect(lstatSync(join(fixture.workdir, `link-to-${name}`)).isSymbolicLink()).toBe(true)
    expect(lstatSync(join(fixture.workdir, name)).isSymbolicLink()).toBe(true)
    expect(readFileSync(join(fixture.workdir, "real", name), "utf8")).toBe("new")
  }
})

test("a loop of links is an error and leaves no temporary file", async () => {
  await using fixture = await temporaryHome()
  symlinkSync("b", join(fixture.workdir, "a"))
  symlinkSync("a", join(fixture.workdir, "b"))
  expect(() => writeFileAtomic(join(fixture.workdir, "a"), "x")).toThrow(/ELOOP/)
  expect(readdirSync(fixture.workdir).toSorted()).toEqual(["a", "b"])
})

test("a directory at the path of the file is refused", async () => {
  await using fixture = await temporaryHome()
  mkdirSync(join(fixture.workdir, "d"))
  expect(() => writeFileAtomic(join(fixture.workdir, "d"), "x")).toThrow(/it is a directory/)
  expect(readdirSync(fixture.workdir)).toEqual(["d"])
})

test.each(["EXDEV", "EBUSY"])("where renaming fails with %s the content is written into the file", async (code) => {
  await using fixture = await temporaryHome()
  const path = join(fixture.workdir, "mounted")
  writeFileSync(path, "old and longer")
  const before = statSync(path).ino
  writeFileAtomic(path, "new", { rename: () => refuse(code) })
  expect([readFileSync(path, "utf8"), statSync(path).ino, readdirSync(fixture.workdir)]).toEqual([
    "new",
    before,
    ["mounted"],
  ])
})

test("any other failure leaves the old file and no temporary one", async () => {
  await using fixture = await temporaryHome()
  const path = join(fixture.workdir, "kept")
  writeFileSync(path, "old")
  expect(() => writeFileAtomic(path, "new", { rename: () => refuse("ENOSPC") })).toThrow("ENOSPC")
  expect([readFileSync(path, "utf8"), readdirSync(fixture.workdir)]).toEqual(["old", ["kept"]])
})

test("killing a writer at any instant leaves one complete version with its mode", async () => {
  await using fixture = await temporaryHome()
  const path = join(fixture.workdir, "config.yaml")
  writeFileSync(path, content("0"))
  chmodSync(path, 0o640)
  const script = `
    import { writeFileAtomic } from ${JSON.stringify(join(import.meta.dirname, "atomic-file.ts"))}
    process.stdout.write("go")
    for (let i = 0; ; i += 1) writeFileAtomic(${JSON.stringify(path)}, String(i % 10).repeat(200000) + "end")
  `
  for (let round = 0; round < 30; round += 1) {
    const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    })
    await once(child.stdout, "data")
    await delay(Math.random() * 20)
    const exit = once(child, "exit")
    child.kill("SIGKILL")
    await exit
    const text = readFileSync(path, "utf8")
    expect(text === content(text[0] ?? "")).toBe(true)
    expect(modeOf(path)).toBe(0o640)
  }
}, 60_000)

function content(digit: string): string {
  return `${digit.repeat(200_000)}end`
}

function refuse(code: string): never {
  throw Object.assign(new Error(code), { code })
}
