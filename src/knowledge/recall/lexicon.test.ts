import { describe, expect, test } from "vitest"
import { conceptsOf } from "./concepts.ts"
import { createLexicon, fieldTerm } from "./lexicon.ts"
import { SYNONYM_GROUPS } from "./synonym-groups.ts"
import { termsOf } from "./terms.ts"
import { FIELD_GROUPS, WORD_FIELDS } from "./word-fields.ts"

const lexicon = createLexicon()

describe("the word lists", () => {
  test("no synonym is lost to the stop words, and no group is without a choice", () => {
    const phrases = SYNONYM_GROUPS.map((group) => group.split(",").map((phrase) => termsOf(phrase)))
    expect(phrases.filter((group) => group.length < 2 || group.some(({ length }) => length === 0))).toEqual([])
  })

  test("the groups of fields consist of fields", () => {
    const members = Object.values(FIELD_GROUPS).flatMap((names) => names.split(" "))
    expect(members.filter((name) => !Object.hasOwn(WORD_FIELDS, name))).toEqual([])
  })

  test("a field is one term of the index", () => {
    const names = [...Object.keys(WORD_FIELDS), ...Object.keys(FIELD_GROUPS)]
    expect(names.filter((name) => !/^[a-z]+$/.test(name))).toEqual([])
  })
})

test("the terms of a text are its words and what they are about, sentence by sentence", () => {
  expect(lexicon.indexTerms("Grandma bakes. 7 cats!")).toEqual([
    "grandma",
    "bake",
    fieldTerm("family"),
    fieldTerm("cooking"),
    fieldTerm("allpeople"),
    fieldTerm("allhome"),
    fieldTerm("allfood"),
    ".",
    "7",
    "cat",
    fieldTerm("number"),
    fieldTerm("animals"),
    fieldTerm("allhome"),
  ])
})

test.each([
  ["hypertenison", ["hypertens"]],
  ["hosptial", ["hospit"]],
  ["lnadlord", ["landlord"]],
  ["client", []],
  ["zzyzx", []],
  ["cat", []],
])("%s may have been meant as %j", (word, terms) => {
  expect(lexicon.respelt(word)).toEqual(terms)
})

test("a phrase of the query is one thing, with the other words for it", () => {
  const concepts = conceptsOf("pull request", lexicon)
  expect(concepts.map(({ forms }) => forms.slice(0, 4))).toEqual([
    [
      { terms: ["pull", "request"], quality: 1 },
      { terms: ["pr"], quality: 0.7 },
      { terms: ["merg", "request"], quality: 0.7 },
      { terms: ["mr"], quality: 0.7 },
    ],
  ])
})

test("question words ask for a kind of answer, and a repeated word counts once", () => {
  expect(conceptsOf("when? where? zyx zyx", lexicon)).toEqual([
    { word: "zyx", forms: [{ terms: ["zyx"], quality: 1 }] },
    { forms: ["place", "residence"].map((field) => ({ terms: [fieldTerm(field)], quality: 0.25 })) },
    { forms: ["time", "date", "weekday"].map((field) => ({ terms: [fieldTerm(field)], quality: 0.25 })) },
  ])
})

test("a pasted text is taken by its beginning", () => {
  const words = Array.from({ length: 500 }, (_, at) => `w${at}`).join(" ")
  expect(conceptsOf(words, lexicon)).toHaveLength(24)
})
