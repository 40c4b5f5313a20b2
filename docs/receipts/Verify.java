// java Verify.java RECEIPT KEYS [TYPE]: checks a receipt of Emanet without the service. Java 15 or later.
// A proof of erasure is checked with TYPE emanet-erasure+jws.
import java.nio.file.*;
import java.security.*;
import java.security.spec.X509EncodedKeySpec;
import java.util.*;
import java.util.regex.*;

public class Verify {
  public static void main(String[] files) throws Exception {
    String[] parts = Files.readString(Path.of(files[0])).strip().split("\\.", -1);
    String type = files.length > 2 ? files[2] : "emanet-receipt+jws";
    try {
      String header = new String(decoded(parts[0]));
      if (parts.length != 3 || !"EdDSA".equals(field(header, "alg")) || !type.equals(field(header, "typ"))) throw new Exception();
      String key = Arrays.stream(Files.readString(Path.of(files[1])).split("\\{"))
          .filter(one -> header.contains("\"kid\":\"" + field(one, "kid") + "\"")).findFirst().orElseThrow();
      // What comes before the 32 bytes of an Ed25519 key in X.509 (RFC 8410).
      byte[] encoded = Arrays.copyOf(HexFormat.of().parseHex("302a300506032b6570032100"), 44);
      System.arraycopy(decoded(field(key, "x")), 0, encoded, 12, 32);
      Signature check = Signature.getInstance("Ed25519");
      check.initVerify(KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(encoded)));
      check.update((parts[0] + "." + parts[1]).getBytes());
      if (!check.verify(decoded(parts[2]))) throw new Exception();
      System.out.println(new String(decoded(parts[1]), "UTF-8"));
    } catch (Exception invalid) {
      System.err.println("The receipt is not valid.");
      System.exit(1);
    }
  }

  static byte[] decoded(String text) { return Base64.getUrlDecoder().decode(text); }

  static String field(String json, String name) {
    Matcher found = Pattern.compile("\"" + name + "\"\\s*:\\s*\"([^\"]*)\"").matcher(json);
    return found.find() ? found.group(1) : "";
  }
}
