import { secretValues } from "../../app/secret-values.ts"
import { createRedactor } from "../../base/redact.ts"
import type { Redactor } from "../../base/redact.ts"
import type { LoadedHome } from "../loaded-home.ts"

/** Other programs keep what they receive, so it is redacted even where the user has disabled redaction. */
export function createServedRedactor({ environment, config, home }: LoadedHome): Redactor {
  return createRedactor({ enabled: true, secrets: secretValues({ environment, config, home }) })
}
