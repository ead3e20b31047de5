import { tmpdir } from "node:os"
import { expect, test } from "vitest"

import { measureWhileRunning, findUsageMeter } from "./resource-usage.ts"
import { NOT_LINUX, titleWithReason } from "../support/skip-reason.ts"

// Fills 200 MB and keeps running for a moment, so that the polling meter can read it.
const FILLS_MEMORY = "globalThis.buffer = Buffer.alloc(200 * 1024 * 1024, 1); setTimeout(() => {}, 30)"

test.skipIf(NOT_LINUX !== undefined)(
  titleWithReason("both meters read the memory and the CPU time of a process", NOT_LINUX),
  async () => {
    const meter = await findUsageMeter()
    for (const measure of [meter!, measureWhileRunning]) {
      const large = await measure(node(FILLS_MEMORY))
      const small = await measure(node("setTimeout(() => {}, 30)"))
      expect(large.peakMb - small.peakMb).toBeGreaterThan(190)
      expect(large.peakMb - small.peakMb).toBeLessThan(230)
      expect(large.cpuMs).toBeGreaterThan(small.cpuMs)
    }
  },
)

test.skipIf(NOT_LINUX !== undefined)(titleWithReason("a command that fails is an error", NOT_LINUX), async () => {
  const meter = await findUsageMeter()
  for (const measure of [meter!, measureWhileRunning]) {
    await expect(measure(node("process.exit(3)"))).rejects.toThrow("ended with 3")
  }
})

function node(code: string) {
  return {
    argv: [process.execPath, "-e", code] as [string, ...string[]],
    env: { PATH: process.env["PATH"] ?? "" },
    cwd: tmpdir(),
  }
}
