import fc from "fast-check"

/**
 * Properties are tried on the same values in every run, so that a red suite means a changed program. To look for new
 * counterexamples, name another seed: `PROPERTY_SEED=12345 npm test`.
 */
fc.configureGlobal({ seed: Number(process.env["PROPERTY_SEED"] ?? 20_261_115) })

export { fc }
