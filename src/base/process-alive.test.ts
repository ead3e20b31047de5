import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { expect, test, vi } from "vitest"
import { isProcessAlive, processStartTime } from "./process-alive.ts"
import { NOT_LINUX, titleWithReason } from "../../test/support/skip-reason.ts"

test("a running process is alive, an unused process id is not", () => {
  expect(isProcessAlive(process.pid)).toBe(true)
  expect(isProcessAlive(2 ** 22 + 1)).toBe(false)
})

test.skipIf(NOT_LINUX !== undefined)(titleWithReason("a zombie process is not alive", NOT_LINUX), async () => {
  // The short `sleep` is a child of what becomes the long one, which never asks for its exit code.
  using parent = spawn("sh", ["-c", "sleep 0.1 & echo $!; exec sleep 60"], { stdio: ["ignore", "pipe", "ignore"] })
  const [said] = (await once(parent.stdout, "data")) as [Buffer]
  const pid = Number(said.toString())
  await vi.waitFor(() => {
    expect(readFileSync(`/proc/${pid}/stat`, "utf8")).toContain(") Z ")
  })
  expect(isProcessAlive(pid)).toBe(false)
  expect(processStartTime(pid)).toMatch(/^\d+$/u)
})
