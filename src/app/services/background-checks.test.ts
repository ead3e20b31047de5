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
