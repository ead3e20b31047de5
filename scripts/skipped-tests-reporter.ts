import { writeFileSync } from "node:fs"
import type { Reporter } from "vitest/node"

/** Writes the skipped tests of a run, with their reasons, to the file in HERMES_SKIPPED_TESTS: one line each. */
export default class SkippedTestsReporter implements Reporter {
  onTestRunEnd(modules: Parameters<NonNullable<Reporter["onTestRunEnd"]>>[0]): void {
    const file = process.env["HERMES_SKIPPED_TESTS"]
    if (file === undefined) return
    const lines = modules.flatMap((module) =>
      Array.from(module.children.allTests("skipped"), (test) => {
        const result = test.result()
        const note = result.state === "skipped" ? result.note : undefined
        return skippedLine({ file: module.relativeModuleId, name: test.fullName, note })
      }),
    )
    writeFileSync(file, lines.map((line) => `${line}\n`).join(""))
  }
}

/** A title may end with "(skipped: reason)", because Vitest stores no reason for `skipIf`. */
export function skippedLine(test: {
  readonly file: string
  readonly name: string
  readonly note: string | undefined
}): string {
  const { file, note } = test
  const inTitle = TITLED_REASON.exec(test.name)?.[1]
  const name = test.name.replace(TITLED_REASON, "")
  return `${file} > ${name}: ${note ?? inTitle ?? "no reason is given"}`
}

const TITLED_REASON = / \(skipped: ((?:[^()]|\([^()]*\))*)\)/
