package dev.nimble.benchmarks.models;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** MiniLM as a user meets it. */
class SentenceEmbeddingTest {
  @Test
  void paraphrasesAreCloserThanUnrelatedSentences() {
    try (SentenceEmbedding embedding = new SentenceEmbedding()) {
      float[] meal = embedding.embed("A man is eating a piece of bread.");
      float[] paraphrase = embedding.embed("Someone eats some bread.");
      float[] unrelated = embedding.embed("The stock market fell sharply today.");
      double close = SentenceEmbedding.cosine(meal, paraphrase);
      double far = SentenceEmbedding.cosine(meal, unrelated);
      assertThat(close).isGreaterThan(0.6);
      assertThat(far).isLessThan(0.3);
    }
  }
}
