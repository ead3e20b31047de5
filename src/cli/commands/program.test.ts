import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"

import { checkForUpdate, findInstallation } from "../../admin/program/installation.ts"
import { planUninstall, uninstall } from "../../admin/program/uninstall.ts"
import { environmentFrom } from "../../config/environment.ts"
import { createCliHome } from "../../../test/support/cli-home.ts"

test("debug share --local prints the setup and the end of each log, with secrets and addresses masked", async () => {
  using home = createCliHome()
  mkdirSync(home.home.file("logs"), { recursive: true })
  const line = (text: string): string => `2026-01-01 10:00:00,000 INFO agent: ${text}\n`
  writeFileSync(
    home.home.file("logs", "agent.log"),
    [line("first"), line("key sk-proj-abcdef1234567890ABCD"), line("mail to ann@example.org")].join(""),
  )
  const { code, out } = await home.run(["debug", "share", "--local", "--lines", "2"])
  expect(code).toBe(0)
  expect(out).toMatch(/^--- hermes dump ---\n[^]*--- end dump ---\n--- agent\.log, last 2 lines ---\n/u)
  expect(out).not.toMatch(/abcdef1234567890|ann@example|first/u)
  expect(await home.run(["debug", "share"])).toMatchObject({ code: 1, out: "" })
  expect(await home.run(["debug", "share", "--local", "--no-redact"], { answers: ["yes"] })).toMatchObject({
    code: 1,
    out: "",
  })
  const plain = await home.run(["debug", "share", "--local", "--no-redact"], { answers: ["show secrets"] })
  expect(plain.out).toContain("ann@example.org")
})

test("update --check compares a checkout with its origin", async () => {
  using home = createCliHome()
  const environment = environmentFrom(process.env)
  const signal = AbortSignal.timeout(60_000)
  const git = (directory: string, ...args: readonly string[]): string =>
    execFileSync("git", ["-C", directory, "-c", "user.name=a", "-c", "user.email=a@b", ...args], { encoding: "utf8" })
  const origin = join(home.directory, "origin")
  const clone = join(home.directory, "clone")
  mkdirSync(join(origin, "dist"), { recursive: true })
  git(home.directory, "init", "-q", origin)
  git(origin, "commit", "-q", "--allow-empty", "-m", "one")
  git(home.directory, "clone", "-q", origin, clone)
  mkdirSync(join(clone, "dist"))
  writeFileSync(join(clone, "dist", "hermes.js"), "")
  const installation = findInstallation(join(clone, "dist", "hermes.js"))
  expect(installation.kind).toBe("checkout")
  const options = { branch: undefined, environment, signal }
  expect(await checkForUpdate(installation, options)).toMatchObject({ ok: true, value: { isCurrent: true } })
  git(origin, "commit", "-q", "--allow-empty", "-m", "two")
  expect(await checkForUpdate(installation, options)).toMatchObject({ ok: true, value: { isCurrent: false } })
  expect(await checkForUpdate(installation, { ...options, branch: "gone" })).toMatchObject({ ok: false })
  expect(findInstallation("/usr/lib/node_modules/hermes-agent/dist/hermes.js").kind).toBe("package")
  expect((await home.run(["update"])).code).toBe(1)
})

test("uninstall removes only its own commands, and the data only after its path was typed", async () => {
  using home = createCliHome()
  const root = join(home.directory, "program")
  const bin = join(home.directory, ".local", "bin")
  mkdirSync(join(root, "dist"), { recursive: true })
  writeFileSync(join(root, "hermes"), "")
  await home.run(["profile", "create", "work"])
  mkdirSync(bin, { recursive: true })
  symlinkSync(join(root, "hermes"), join(bin, "hermes"))
  const context = { home: home.home, environment: environmentFrom(home.variables) }
  const plan = await planUninstall(context, { kind: "checkout", root })
  expect(plan.link).toBe(join(bin, "hermes"))
  expect((await planUninstall(context, { kind: "checkout", root: join(home.directory, "other") })).link).toBeUndefined()
  uninstall(context, plan, { data: false })
  expect([existsSync(join(bin, "hermes")), existsSync(home.home.path)]).toEqual([false, true])

  expect(await home.run(["uninstall", "--full"], { answers: ["yes"] })).toMatchObject({ code: 1 })
  expect(existsSync(home.home.path)).toBe(true)
  const done = await home.run(["uninstall", "--full"], { answers: [home.home.root] })
  expect(done).toMatchObject({ code: 0 })
  expect(existsSync(home.home.path)).toBe(false)
})
