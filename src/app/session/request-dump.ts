import { writeFileSync } from "node:fs"
import { dirname } from "node:path"

import { makeDirectories } from "../../base/make-directories.ts"
import type { Logger } from "../../base/logger.ts"
import type { Redactor } from "../../base/redact.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Home } from "../../config/home.ts"
import type { ModelClient } from "../../llm/model.ts"
import type { SessionId } from "../../protocol/identifiers.ts"

/** Writes every request to its own file, with secrets redacted (HERMES_DUMP_REQUESTS). For debugging; Hermes never reads them. */
export function dumpingRequests(
  model: ModelClient,
  options: { readonly home: Home; readonly sessionId: SessionId; readonly redactor: Redactor; readonly log: Logger },
): ModelClient {
  let count = 0
  return {
    get runtime() {
      return model.runtime
    },
    get rateLimits() {
      return model.rateLimits ?? {}
    },
    beginTurn: () => {
      model.beginTurn()
    },
    ...(model.fallBack === undefined ? {} : { fallBack: () => model.fallBack?.() ?? Promise.resolve(undefined) }),
    ...(model.confirmWindow === undefined
      ? {}
      : { confirmWindow: async (how) => (await model.confirmWindow?.(how)) ?? false }),
    ollamaWindow: async (how) => await model.ollamaWindow?.(how),
    close: () => {
      model.close()
    },
    stream: (request, how) => {
      count += 1
      const path = options.home.file("sessions", `request_dump_${options.sessionId}_${count}.json`)
      try {
        makeDirectories(dirname(path))
        const text = JSON.stringify({ runtime: model.runtime, ...request }, undefined, 2)
        writeFileSync(path, options.redactor.redact(text, { force: true }), { mode: 0o600 })
      } catch (error) {
        options.log.warning(`the request could not be dumped to ${path}: ${errorMessage(error)}`)
      }
      return model.stream(request, how)
    },
  }
}
