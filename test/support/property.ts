import fc from "fast-check"

/**
 * Properties run with the same seed every time, so a new failure means that the code changed. To search for new
 * counterexamples, set another seed: `PROPERTY_SEED=12345 npm test`.
 */
fc.configureGlobal({ seed: Number(process.env["PROPERTY_SEED"] ?? 20_261_115) })

export { fc }
