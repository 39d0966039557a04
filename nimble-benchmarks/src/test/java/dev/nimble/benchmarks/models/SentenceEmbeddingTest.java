package dev.nimble.benchmarks.models;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import org.junit.jupiter.api.Test;

/** MiniLM as a user meets it. */
class SentenceEmbeddingTest {
  @Test
  void paraphrasesAreCloserThanUnrelatedSentences() {
    try (HuggingFaceTokenizer tokenizer = SentenceEmbedding.tokenizer()) {
      float[] meal = SentenceEmbedding.embed(tokenizer, "A man is eating a piece of bread.");
      float[] paraphrase = SentenceEmbedding.embed(tokenizer, "Someone eats some bread.");
      float[] unrelated =
          SentenceEmbedding.embed(tokenizer, "The stock market fell sharply today.");
      double close = SentenceEmbedding.cosine(meal, paraphrase);
      double far = SentenceEmbedding.cosine(meal, unrelated);
      assertThat(close).isGreaterThan(0.6);
      assertThat(far).isLessThan(0.3);
    }
  }
}
