import { expect, test } from "vitest"

import { createBackgroundChecks } from "./background-checks.ts"

function recorded() {
  const log: string[] = []
  let count = 0
  const begin = () => {
    const name = `${(count += 1)}`
    log.push(`begin ${name}`)
    return {
      accept: (paths: readonly string[]) => {
        if (paths.length > 0) log.push(`accept ${paths.join()} in ${name}`)
      },
      written: (paths: readonly string[]) => {
        log.push(`written ${paths.join()} in ${name}`)
      },
      check: async () => {
        log.push(`check ${name}`)
        await Promise.resolve()
        log.push(`checked ${name}`)
      },
    }
  }
  return { log, begin }
}

test("checks pause for calls in the same project and begin again with the last one", async () => {
  const checks = createBackgroundChecks()
  const { log, begin } = recorded()
  const resumeFirst = await checks.pause("/p")
  const watch = checks.watch("/p", begin)
  expect(log).toEqual([])
  const resumeSecond = await checks.pause("/p")
  resumeFirst()
  expect(log).toEqual([])
  resumeSecond()
  const resumeOther = await checks.pause("/q")
  expect(log).toEqual(["begin 1"])
  resumeOther()
  await watch.end()
  expect(log).toEqual(["begin 1", "check 1", "checked 1"])
})

test("a check that begins while another one runs waits for it; what is accepted meanwhile counts for the next", async () => {
  const checks = createBackgroundChecks()
  const { log, begin } = recorded()
  const watch = checks.watch("/p", begin)
  const checked = watch.check()
  const ended = watch.end()
  await Promise.resolve()
  checks.accept("/p", ["/p/AGENTS.md"])
  await Promise.all([checked, ended])
  expect(log).toEqual([
    "begin 1",
    "check 1",
    "checked 1",
    "begin 2",
    "accept /p/AGENTS.md in 2",
    "check 2",
    "checked 2",
  ])
})

test("what a file tool writes is accepted by checks that begin meanwhile, and compared from its end on", async () => {
  const checks = createBackgroundChecks()
  const { log, begin } = recorded()
  const written = checks.accept("/p", ["/p/AGENTS.md"])
  const watch = checks.watch("/p", begin)
  expect(checks.isAlone("/p")).toBe(false)
  written()
  await watch.end()
  expect(log).toEqual(["begin 1", "accept /p/AGENTS.md in 1", "written /p/AGENTS.md in 1", "check 1", "checked 1"])
  expect(checks.isAlone("/p")).toBe(true)
})

test("a command that runs at the same time is notified of what a file tool writes, until its check is over", () => {
  const checks = createBackgroundChecks()
  const { log, begin } = recorded()
  const written = checks.accept("/p", ["/p/a"])
  const stop = checks.observeWrites("/p", begin())
  written()
  checks.accept("/p", ["/p/b"])()
  checks.accept("/q", ["/q/c"])()
  stop()
  checks.accept("/p", ["/p/d"])()
  expect(log.slice(1)).toEqual(["accept /p/a in 1", "written /p/a in 1", "accept /p/b in 1", "written /p/b in 1"])
})
