import { expect, test } from "vitest"

import { createLogger } from "../../base/logger.ts"
import { createBackgroundTask } from "./background-task.ts"

function taskWithLog() {
  const lines: string[] = []
  const log = createLogger({
    sinks: [{ level: "DEBUG", write: (line) => void lines.push(line.replace(/^.*hermes: /u, "")) }],
    redact: (text) => text,
  })
  return { task: createBackgroundTask("the work", log), lines }
}

test("one at a time: a second one is dropped while the first runs", async () => {
  const { task } = taskWithLog()
  const ran: number[] = []
  const gate = Promise.withResolvers<undefined>()
  task.start(async () => {
    await gate.promise
    ran.push(1)
  })
  task.start(() => Promise.resolve(void ran.push(2)))
  expect(task.isRunning()).toBe(true)
  gate.resolve(undefined)
  await task.settled()
  task.start(() => Promise.resolve(void ran.push(3)))
  await task.settled()
  expect([ran, task.isRunning()]).toEqual([[1, 3], false])
})

test("a failure is logged and the next one may start", async () => {
  const { task, lines } = taskWithLog()
  task.start(() => Promise.reject(new Error("offline")))
  await task.settled()
  expect([lines, task.isRunning()]).toEqual([["the work failed: offline"], false])
})

test("stopping aborts the work, waits for its end and starts nothing more", async () => {
  const { task } = taskWithLog()
  const steps: string[] = []
  task.start(async (signal) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve))
    steps.push("ended")
  })
  await task.stop()
  steps.push("stopped")
  task.start(() => Promise.resolve(void steps.push("started")))
  await task.settled()
  expect(steps).toEqual(["ended", "stopped"])
})
